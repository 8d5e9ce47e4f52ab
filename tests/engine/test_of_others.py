"""The engine of the guide for authors of engines: its contracts, and `mnem` by its entry point."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mnemosyne_vcs

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "write-an-engine.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
[ENGINE, _, CONTRACTS] = [text for language, text in BLOCKS if language == "python"]
[ENTRY] = [tomllib.loads(text) for language, text in BLOCKS if language == "toml"]


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """The engine as an installer leaves it, for this process and its children."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "ledger.py").write_text(ENGINE)
    info = folder / "ledger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ledger\nVersion: 1.0\n")
    points = ENTRY["project"]["entry-points"]
    lines = [
        f"[{group}]\n{name} = {value}\n"
        for group in points
        for name, value in points[group].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield
    sys.modules.pop("ledger", None)


_guide: dict[str, type] = {"__name__": __name__}
exec(ENGINE + CONTRACTS, _guide)
TestLedger, TestRepository = _guide["TestLedger"], _guide["TestRepository"]


def test_the_engine_of_the_guide_is_short():
    assert len([line for line in ENGINE.splitlines() if line.strip()]) < 65


def test_mnem_works_on_it(tmp_path):
    for arguments in (
        ["init", "ledger://team"],
        ["-s", "ledger://team", "put", "plan", "1"],
        ["clone", "ledger://team", "copy.mnem"],
        ["-s", "copy.mnem", "put", "plan", "2"],
        ["-s", "copy.mnem", "push"],
        ["-s", "ledger://team", "verify"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "mnemosyne_vcs", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    with mnemosyne_vcs.open(f"ledger://{tmp_path}/team") as repo:
        assert repo.resolve().message == "put plan"
        assert repo["plan"].content == 2
