"""The wheel beside another distribution that ships a package `mnemosyne`, or a command `mnem`.

Runs by `make test-neighbours`, which installs each of them with the wheel into an environment of
its own and names it in NEIGHBOUR.
"""

import base64
import hashlib
import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

NEIGHBOUR = os.environ.get("NEIGHBOUR")
if NEIGHBOUR is None:
    pytest.skip("needs `make test-neighbours`", allow_module_level=True)

BIN = Path(sys.executable).parent


@pytest.fixture
def run(tmp_path: Path):
    """Runs a command of the environment, in an empty directory that is its home too."""

    def run(*command: str) -> str:
        environment = {**os.environ, "HOME": str(tmp_path), "PYTHONSAFEPATH": "1"}
        return subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    return run


def changed_files(installed: Distribution) -> set[str]:
    """The files of a distribution that are not what its wheel brought."""
    assert installed.files
    changed = set[str]()
    for file in installed.files:
        if file.hash is not None:
            digest = hashlib.new(file.hash.mode, file.read_binary()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                changed.add(str(file))
    return changed


def is_command(file: str) -> bool:
    return Path(file).parent.name in ("bin", "Scripts")


def test_no_file_of_the_one_replaces_a_file_of_the_other():
    ours, theirs = distribution("mnemosyne-vcs"), distribution(f"mnemosyne-{NEIGHBOUR}")
    common = {str(file) for file in ours.files or ()} & {str(file) for file in theirs.files or ()}

    assert all(map(is_command, common | changed_files(ours) | changed_files(theirs)))
    assert not any(str(file).startswith("mnemosyne/") for file in ours.files or ())


def test_this_side_works(run):
    run("mnemosyne-vcs", "init", "a.mnem")
    run("mnemosyne-vcs", "--store", "a.mnem", "put", "customers/4821", '{"plan": "Team"}')

    assert "put customers/4821" in run("mnemosyne-vcs", "--store", "a.mnem", "log", "--oneline")
    assert "Team" in run(
        "python", "-m", "mnemosyne_vcs", "--store", "a.mnem", "show", ":customers/4821"
    )


@pytest.mark.skipif(NEIGHBOUR != "memory", reason="is about mnemosyne-memory")
def test_mnemosyne_memory_works(run):
    run("mnemosyne", "store", "the plan is Enterprise", "user", "0.9")

    assert "the plan is Enterprise" in run("mnemosyne", "recall", "plan")


@pytest.mark.skipif(NEIGHBOUR != "guard", reason="is about mnemosyne-guard")
def test_mnemosyne_guard_works(run):
    version = distribution("mnemosyne-guard").version

    assert version in run("python", "-m", "mnemosyne", "version")
    program = "import mnemosyne, mnemosyne_vcs; print(mnemosyne.__version__)"
    assert version in run("python", "-c", program)
