"""Long results go through a pager on a terminal, and nowhere else."""

import sys

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.cli.pager import pager_command

from .test_terminal import plain, terminal

__all__ = ["terminal"]

MARK = f"{sys.executable} -c \"import sys; [print('|' + line, end='') for line in sys.stdin]\""
LEAVE = f'{sys.executable} -c "import sys; print(sys.stdin.readline())"'
COMMITS = 60
MANY = 1000


@pytest.fixture
def long(store):
    """A history that is longer than the screen."""
    with mnemosyne_vcs.open(store.path) as repo:
        for number in range(COMMITS):
            repo.put("n", number, message=f"count {number}")
    return store


@pytest.fixture
def endless(store):
    """A history that is longer than what fits into a pipe."""
    with mnemosyne_vcs.open(store.path, durability="relaxed") as repo:
        for number in range(MANY):
            repo.put("n", number, message=f"{number} {'long ' * 40}")
    return store


def shown_lines(shown):
    return plain(shown).replace("\r", "").splitlines()


@pytest.mark.parametrize("arguments", [("log",), ("reflog",)])
def test_what_is_longer_than_the_screen(terminal, long, arguments):
    shown, code = terminal(*arguments, MNEM_PAGER=MARK)

    assert code == 0
    lines = shown_lines(shown)
    assert len(lines) > COMMITS and all(line.startswith("|") for line in lines)
    assert "\x1b[33m" in shown or arguments != ("log",)


def test_the_whole_difference(terminal, store):
    with mnemosyne_vcs.open(store.path) as repo, repo.transaction() as tx:
        for number in range(COMMITS):
            tx.put(f"n/{number:02}", number)

    for verb in ("diff", "show"):
        lines = shown_lines(terminal(verb, PAGER=MARK)[0])
        assert lines[-2:] == ["|added  n/59", "|         59"]


@pytest.mark.parametrize(
    "arguments, environment",
    [
        (("log", "--no-pager"), {"MNEM_PAGER": MARK}),
        (("--no-pager", "log"), {"MNEM_PAGER": MARK}),
        (("log", "--json"), {"MNEM_PAGER": MARK}),
        (("log", "-n", "3"), {"MNEM_PAGER": MARK}),
        (("log",), {"MNEM_PAGER": "cat", "PAGER": MARK}),
        (("log",), {"MNEM_PAGER": "", "PAGER": MARK}),
        (("log",), {"PAGER": "no-such-program"}),
        (("log",), {"PAGER": MARK, "TERM": "dumb"}),
    ],
)
def test_none(terminal, long, arguments, environment):
    shown, code = terminal(*arguments, **environment)

    assert code == 0
    assert "count 59" in shown
    assert not any(line.startswith("|") for line in shown_lines(shown))


@pytest.mark.parametrize("verb", ["log", "reflog"])
def test_leaving_it_early_is_no_failure(terminal, endless, verb):
    shown, code = terminal(verb, PAGER=LEAVE)

    assert code == 0
    assert "Error" not in shown and "Traceback" not in shown
    assert len(shown_lines(shown)) < 5


def test_an_error_comes_after_it(terminal, long):
    shown, code = terminal("log", "nope", PAGER=MARK)

    assert code == 3
    assert shown_lines(shown)[-1].startswith("Error:")


def test_it_is_not_used_in_a_pipe(process, long):
    lines = process("log", PAGER=MARK).lines

    assert not any(line.startswith("|") for line in lines)


@pytest.mark.parametrize(
    "environment, command",
    [
        ({"PAGER": "sh -c 'x y'"}, ["sh", "-c", "x y"]),
        ({"PAGER": "sh", "MNEM_PAGER": "env A=b sh"}, ["env", "A=b", "sh"]),
        ({"PAGER": "sh", "MNEM_PAGER": ""}, []),
        ({"PAGER": " "}, []),
    ],
)
def test_which_one(environment, command):
    assert pager_command(environment) == command
