"""`mnem` as a process: what it loads, what it writes into a pipe, how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import PLAN

FULL = Path("/dev/full")
MNEM = [sys.executable, "-m", "mnemosyne_vcs"]
LOADED = """
import sys
from mnemosyne_vcs.cli import main
sys.argv = ["mnem", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_importing_the_package_loads_no_numpy_and_nothing_of_the_command():
    modules = loaded("import sys, mnemosyne_vcs; print(*sys.modules, file=sys.stderr)")

    assert "mnemosyne_vcs.repository.repository" in modules
    assert not {"numpy", "rich", "click", "mnemosyne_vcs.cli", "crewai"} & modules


@pytest.mark.parametrize(
    "arguments",
    [
        ("log",),
        ("log", "--json"),
        ("why", PLAN),
        ("ls", "-l"),
        ("status",),
        ("reflog",),
        ("branch",),
        ("diff", "main~1", "main~2"),
        ("put", "k", "1"),
        ("rm", "-r", "/crew", "--yes"),
    ],
)
def test_verbs_that_need_no_vectors_load_neither_numpy_nor_rich(here, store, arguments):
    with mnemosyne_vcs.open(store.path) as repo, repo.transaction() as tx:
        tx.put(PLAN, "changed without a message", embedding=[0, 0, 1])

    modules = loaded(LOADED, *arguments)

    assert {"mnemosyne_vcs", "click", "apsw"} <= modules
    assert not {"numpy", "rich", "crewai", "asyncio"} & modules


def test_log_in_a_pipe_is_plain(process, store):
    ran = process("log")

    assert ran.lines[0].startswith(short_id(store.poisoned))
    assert "\x1b" not in ran.stdout and "\t" not in ran.stdout
    assert ran.stderr == ""


def test_json_and_exit_codes(process, store):
    assert process("status", "--json").json["records"] == 3
    assert process("show", "nope", "--json", code=3).error["kind"] == "not-found"
    assert "Traceback" not in process("log", "-s", "/nowhere/at.mnem", code=3).stderr


def test_the_environment_names_the_store(process, store, here):
    mnemosyne_vcs.open(here / "nearer.mnem", create=True).close()

    assert process("status", "--json", MNEMOSYNE_URL=str(store.path)).json["records"] == 3
    assert process("status", "--json").json["records"] == 0


def test_text_that_the_terminal_cannot_encode(process, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("é🧠", "naïve → 🧠")

    ran = process("ls", "-l", PYTHONIOENCODING="ascii")
    assert "\\U0001f9e0" in ran.stdout


@pytest.mark.parametrize("arguments", [("log",), ("ls", "-r"), ("show",)])
def test_a_closed_pipe_is_quiet(here, store, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*MNEM, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)

    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(here, store):
    with FULL.open("w") as full:
        done = subprocess.run(
            [*MNEM, "log"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode != 0
    assert "No space left" in done.stderr and "Traceback" not in done.stderr


def test_an_interrupt_ends_with_130(here, store):
    code = (
        "import os, signal, sys; import mnemosyne_vcs.cli.commands.log as log; "
        "from mnemosyne_vcs.cli import main; "
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "log._title = lambda *_: os.kill(os.getpid(), signal.SIGINT); "
        "sys.argv = ['mnem', 'log']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_the_demo_of_crewai_without_it_says_what_to_install(here):
    code = (
        "import sys; sys.modules['crewai'] = None; from mnemosyne_vcs.cli import main; "
        "sys.argv = ['mnem', 'demo', '--crewai']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "pip install 'mnemosyne-vcs[crewai]'" in done.stderr.splitlines()[-1]
    assert not list(here.iterdir())


def test_the_demo_leaves_a_store_to_explore(process):
    told = process("demo").stdout
    commands = [line.strip() for line in told.splitlines() if line.startswith("  mnem -s ")]

    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(
            [*MNEM, *command.split()[1:]], capture_output=True, text=True, check=True
        )
        assert done.stdout
    assert process("verify", "--json").json["ok"]
    assert "demo.mnem" in process("demo", code=11).stderr


@pytest.mark.crewai
def test_the_demo_in_json_tells_no_story(process):
    pytest.importorskip("crewai")
    played = process("demo", "--json", "mine.mnem").json

    assert played["path"] == "mine.mnem"
    assert played["poisoned"]["id"] in played["undone"]["trailers"]["Undoes"].split()
