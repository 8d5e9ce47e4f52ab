"""`mnem` on a real terminal: colours, tables cut to the width, questions, progress."""

import os
import re
import select
import signal
import sys
import time

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.ids import short_id

from .conftest import LONG, NOTE, PLAN

pty = pytest.importorskip("pty")
WIDTH = 90
START = "import sys; sys.argv[0] = 'mnem'; from mnemosyne_vcs.cli import main; "


@pytest.fixture
def terminal(here):
    """Runs `mnem` on a terminal; gives what it showed and its exit code."""
    import fcntl
    import struct
    import termios

    def run(*arguments, typed=b"", before="", **environment):
        environment = {"TERM": "xterm-256color", "COLUMNS": str(WIDTH), **environment}
        command = [sys.executable, "-c", f"{START}{before}main()", *arguments]
        child, screen = pty.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(command[0], command, {**os.environ, **environment})
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        shown = watched(screen, typed)
        os.close(screen)
        return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


def watched(screen, typed):
    """All that appears until the other side ends. Types once it is asked, and again if ignored."""
    shown, deadline = b"", time.monotonic() + 60
    asked = False
    while time.monotonic() < deadline:
        ready, _, _ = select.select([screen], [], [], 2)
        part = read(screen) if ready else b""
        if ready and not part:
            return shown
        shown += part
        first = not asked and b"[y/N]" in shown
        asked = asked or first
        if typed and (first or (asked and not ready)):
            os.write(screen, typed)
    raise AssertionError(f"it did not end, and showed {shown!r}")


def read(screen):
    try:
        return os.read(screen, 65536)
    except OSError:  # how Linux says that the other side has ended
        return b""


def plain(shown):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_colours(terminal, store):
    shown, code = terminal("log")

    assert code == 0
    assert f"\x1b[33m{short_id(store.poisoned)}\x1b[0m" in shown


@pytest.mark.parametrize("arguments", [("log",), ("ls", "-rl"), ("nope",), ("why", "nope")])
def test_no_color_is_honoured(terminal, store, arguments):
    shown, _ = terminal(*arguments, NO_COLOR="1")

    assert "\x1b[" not in shown


def test_a_dumb_terminal_gets_no_colours(terminal, store):
    assert "\x1b[" not in terminal("log", TERM="dumb")[0]


def test_a_table_keeps_keys_whole_and_cuts_what_records_say(terminal, store):
    lines = plain(terminal("ls", "-rl")[0]).splitlines()

    assert max(map(len, lines)) <= WIDTH
    assert [line.split()[0] for line in lines if line] == [NOTE, PLAN, lines[2].split()[0]]
    assert lines[0].rstrip().endswith("…")
    assert LONG not in lines[0]


def test_a_table_in_colour(terminal, store):
    shown, _ = terminal("search", "--like", PLAN)

    assert f"\x1b[36m{NOTE}\x1b[0m" in shown


def test_what_was_found_is_marked(terminal, store):
    shown, _ = terminal("search", "free")
    assert "4821 is on \x1b[1;31mFree\x1b[0m" in shown

    shown, _ = terminal("grep", "to the end", TERM="dumb")
    assert "\x1b[" not in shown
    shown, _ = terminal("grep", "to the end")
    assert "…" in shown
    assert "and \x1b[1;31mto the end\x1b[0m" in shown


@pytest.mark.parametrize("typed, code, plan", [(b"y\n", 0, "Enterprise"), (b"n\n", 1, "Free")])
def test_undo_asks(terminal, store, typed, code, plan):
    shown, ended = terminal("undo", typed=typed)

    assert ended == code
    assert "What would change" in shown and "Undo this?" in shown
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert repo.at()[PLAN].content["content"] == f"4821 is on {plan}"


def test_an_interrupted_question_changes_nothing(terminal, store):
    _, ended = terminal("undo", typed=b"\x03")

    assert ended == 130
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert repo.resolve().id == store.poisoned


def test_a_branch_that_moved_during_the_question(terminal, store):
    meddle = (
        "import click, mnemosyne_vcs; "
        "click.confirm = lambda *a, **k: "
        f"bool(mnemosyne_vcs.open({str(store.path)!r}).put('x', 1)); "
    )
    shown, ended = terminal("undo", before=meddle)

    assert ended == 4
    assert "as expected" in shown
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert repo.at()[PLAN].content["content"] == "4821 is on Free"


def test_a_long_check_shows_how_far_it_is(terminal, store):
    hurry = "import mnemosyne_vcs.cli.progress as progress; progress.PATIENCE = 0; "
    shown, ended = terminal("verify", before=hurry)

    assert ended == 0
    assert "checking" in shown and "100%" in shown
    assert plain(shown).splitlines()[-1].endswith("all sound")


def test_a_short_check_shows_none(terminal, store):
    shown, _ = terminal(
        "verify", before="import mnemosyne_vcs.cli.progress as p; p.PATIENCE = 1e9; "
    )

    assert "checking" not in shown


def test_a_difference_in_colour(terminal, store):
    shown, _ = terminal("diff", "--no-pager")

    assert f"\x1b[36m{PLAN}\x1b[0m" in shown
    assert '\x1b[31m"4821 is on Enterprise"\x1b[0m → \x1b[32m"4821 is on Free"\x1b[0m' in shown


@pytest.mark.parametrize(
    "arguments, question",
    [
        (("rm", "-r", "/crew/support"), "Remove this?"),
        (("branch", "-d", "what-if"), "Delete branch what-if?"),
        (("gc", "--keep-reflog", "0", "--compact"), "Remove this permanently?"),
    ],
)
@pytest.mark.parametrize("typed, code", [(b"y\n", 0), (b"n\n", 1)])
def test_what_takes_something_away_asks(terminal, store, arguments, question, typed, code):
    shown, ended = terminal(*arguments, typed=typed)

    assert ended == code
    assert question in plain(shown)
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        untouched = (PLAN in repo.at(), "what-if" in repo.branches()) == (True, True)
    assert untouched == (code == 1 or arguments[0] == "gc")


def test_others_may_write_elsewhere_during_the_question(terminal, store):
    meddle = (
        "import click, mnemosyne_vcs; "
        "click.confirm = lambda *a, **k: "
        f"bool(mnemosyne_vcs.open({str(store.path)!r}).put('x', 1)); "
    )
    _, ended = terminal("rm", PLAN, before=meddle)

    assert ended == 0
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert PLAN not in repo.at() and repo.at()["x"].content == 1


def test_a_record_that_changed_during_the_question_stays(terminal, store):
    meddle = (
        "import click, mnemosyne_vcs; "
        "click.confirm = lambda *a, **k: "
        f"bool(mnemosyne_vcs.open({str(store.path)!r}).put({PLAN!r}, 'new')); "
    )
    _, ended = terminal("rm", PLAN, before=meddle)

    assert ended == 4
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        assert repo.at()[PLAN].content == "new"


def test_work_that_cannot_say_how_far_it_is_shows_that_it_lives(terminal, store):
    slow = (
        "import threading; import mnemosyne_vcs.cli.progress as progress; progress.PATIENCE = 0; "
        "shown = threading.Event(); bar = progress._bar; "
        "progress._bar = lambda *a: (bar(*a), shown.set()); "
        "import mnemosyne_vcs.repository.repository as r; copy = r.Repository.backup; "
        "r.Repository.backup = lambda *a: (shown.wait(30), copy(*a)); "
    )
    shown, ended = terminal("backup", "copy.mnem", before=slow)

    assert ended == 0
    assert "copying" in plain(shown)
    assert "copied" in plain(shown).splitlines()[-1]
