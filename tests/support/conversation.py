"""Talking with `mnem` on a terminal of its own."""

import os
import re
import select
import signal
import sys
import time

import pytest

__all__ = ["converse"]

pty = pytest.importorskip("pty")
QUESTION = re.compile(rb"\[a\]bort: |\[y/N\]: ")


def converse(answers, *arguments, **environment):
    """Run `mnem` on a terminal and answer each question.

    Returns:
        What it showed, and its exit code.
    """
    command = [sys.executable, "-m", "mnemosyne_vcs", *arguments]
    child, screen = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job ignores it
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", **environment})
    shown, answered, deadline = b"", 0, time.monotonic() + 60
    while part := _read(screen, deadline, answered > 0 and answers[answered - 1] == "\x03"):
        shown += part
        if answered < min(len(answers), len(QUESTION.findall(shown))):
            os.write(screen, answers[answered].encode() + b"\n")
            answered += 1
    os.close(screen)
    assert answered == len(answers), shown
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _read(screen, deadline, interrupted):
    """What appears next; nothing if the other side has ended.

    Python sees a Ctrl-C that comes just before it waits for a line only when it has one, and the
    terminal may have dropped the end of the line that came with it. So another one is sent.
    """
    while not select.select([screen], [], [], 1)[0]:
        assert time.monotonic() < deadline, "it waits for something else"
        if interrupted:
            os.write(screen, b"\n")
    try:
        return os.read(screen, 65536)
    except OSError:  # how Linux says that the other side has ended
        return b""
