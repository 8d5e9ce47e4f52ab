"""The examples run as they are, and do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("crewai")
pytestmark = pytest.mark.crewai

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_quickstart_prints_the_commit_of_its_save(tmp_path):
    script = EXAMPLES / "crewai_quickstart.py"
    done = subprocess.run(
        [sys.executable, str(script), "mine.mnem"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip

    (commit,) = re.findall(r"^(\w+) crewai (.*) (\{.*\})$", done.stdout, re.M)
    assert "Run-Id" in commit[2]
    assert "Save-Id" in commit[2]
    assert (tmp_path / "mine.mnem").is_file()
