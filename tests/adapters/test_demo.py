"""The demo, played by real crews."""

import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

from demo import StoryChecks
from mnemosyne_vcs.cli.demo import run


@pytest.fixture(scope="class")
def played(tmp_path_factory):
    pytest.importorskip("crewai")
    path = tmp_path_factory.mktemp("demo") / "demo.mnem"
    printed = io.StringIO()
    story = run(path, Console(file=printed, width=200), crewai=True)
    return story, path, printed.getvalue()


@pytest.mark.crewai
class TestStory(StoryChecks):
    def test_as_a_process_of_its_own_only_the_story_is_heard(self, tmp_path):
        code = (
            "import socket, sys; from pathlib import Path; from rich.console import Console;"
            "socket.socket.connect = socket.getaddrinfo = None;"
            "from mnemosyne_vcs.cli.demo import run;"
            "run(Path(sys.argv[1]), Console(width=120), crewai=True)"
        )
        own = {name: value for name, value in os.environ.items() if "CREWAI" not in name}
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "demo.mnem")],
            capture_output=True, text=True, check=True, env=own, stdin=subprocess.DEVNULL,
        )  # fmt: skip

        assert done.stderr == ""
        chapters = [line for line in done.stdout.splitlines() if re.match(r"\S", line)]
        assert len(chapters) == 6
        assert chapters[0].startswith("Run 1")
        assert chapters[-1].endswith("demo.mnem")
