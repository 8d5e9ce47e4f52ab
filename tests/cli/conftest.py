"""A store that two runs of a crew have written to, and `mnem` to look at it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import mnemosyne_vcs
from mnemosyne_vcs import Provenance, Repository
from mnemosyne_vcs.cli.app import mnem as app

RUN_1 = "aaaaaaaa-1111-4000-8000-000000000001"
RUN_2 = "bbbbbbbb-2222-4000-8000-000000000002"
SAVE_1 = "cccccccc-3333-4000-8000-000000000003"
PLAN = "/crew/support/11111111-aaaa-4000-8000-000000000001"
TEAM = "/crew/support/11112222-aaaa-4000-8000-000000000002"
NOTE = "/crew/33333333-aaaa-4000-8000-000000000003"
LONG = "long " * 60 + "and to the end"


def memory(text, importance=0.5):
    return {"content": text, "importance": importance, "categories": ["plan"]}


@dataclass(frozen=True)
class Store:
    path: Path
    learned: str
    poisoned: str


@pytest.fixture
def store(tmp_path, clock):
    """`main`: three records, then one of them misread; `what-if`: one record more."""
    path = tmp_path / "memory.mnem"
    with mnemosyne_vcs.open(path, create=True) as opened:
        repo = Repository(opened.blocks.engine, author="crewai", clock=clock)
        trailers = {"Run-Id": RUN_1, "Save-Id": SAVE_1, "Crew": "the support desk"}
        with repo.transaction(trailers=trailers) as tx:
            first = Provenance(source="ticket-7731", agent="Onboarding analyst", run=RUN_1)
            tx.put(PLAN, memory("4821 is on Enterprise"), embedding=[1, 0, 0], provenance=first)
            tx.put(TEAM, memory("5120 is on Team"), embedding=[0.9, 0.1, 0], provenance=first)
            tx.put(NOTE, memory(LONG), embedding=[0, 1, 0])
        learned = repo.resolve().id
        clock.advance(60_000)
        misread = Provenance(
            source="note-118", agent="Account reviewer", task="Note 118", run=RUN_2,
            derived_from=((PLAN, learned),),
        )  # fmt: skip
        with repo.transaction(message="read note 118", trailers={"Run-Id": RUN_2}) as tx:
            tx.put(PLAN, memory("4821 is on Free", 0.9), embedding=[1, 0, 0], provenance=misread)
        repo.create_branch("what-if")
        clock.advance(60_000)
        repo.put("notes:1/x", {"a": 1}, branch="what-if", message="try this")
        return Store(path, learned, repo.resolve().id)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty directory to be in, and an environment that names no store."""
    for name in ("MNEMOSYNE_URL", "MNEMOSYNE_AUTHOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "below" / "here"
    directory.mkdir(parents=True)
    monkeypatch.chdir(directory)
    return directory


class Ran:
    """What one run of `mnem` gave."""

    def __init__(self, stdout: str, stderr: str) -> None:
        self.stdout, self.stderr = stdout, stderr

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    @property
    def json(self):
        return json.loads(self.stdout)

    @property
    def jsonl(self):
        return [json.loads(line) for line in self.lines]

    @property
    def error(self):
        return json.loads(self.stderr)["error"]


@pytest.fixture
def mnem(here):
    """Runs `mnem` in this process and checks its exit code."""

    def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Ran:
        result = CliRunner().invoke(app, arguments, input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return Ran(result.stdout, result.stderr)

    return run


@pytest.fixture
def process(here):
    """Runs `mnem` as a process of its own, and checks its exit code."""

    def run(*arguments: str, code: int = 0, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "mnemosyne_vcs", *arguments],
            capture_output=True, text=True, encoding="utf-8", check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, **environment},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return Ran(done.stdout, done.stderr)

    return run


def content_of(store, key, branch="main"):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        record = repo.at(branch).get(key)
        return record and record.content


def plan(store, branch="main"):
    return content_of(store, PLAN, branch)["content"]


def heads(path):
    with mnemosyne_vcs.open(path, read_only=True) as repo:
        return repo.branches(), repo.tags()


@pytest.fixture
def elsewhere(here, mnem):
    """An empty store."""
    path = here / "elsewhere" / "other.mnem"
    path.parent.mkdir()
    mnem("init", str(path))
    return path


def at(store, key, branch="main"):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        record = repo.at(branch).get(key)
        return record and (record.content, sorted(record.vectors), record.provenance)


def head(store):
    with mnemosyne_vcs.open(store.path, read_only=True) as repo:
        return repo.resolve()
