"""Every block of the README and of the guides does what it shows."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mnemosyne_vcs.cli.app import SECTIONS

pytest.importorskip("crewai")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == language]


@pytest.fixture
def unregistered():
    from crewai.memory.storage.factory import set_memory_storage_factory

    yield
    set_memory_storage_factory(None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_and_console_blocks(page, tmp_path, monkeypatch, unregistered):
    """Each in turn, Python in one namespace; the README shows first what its code has done."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    found = BLOCK.findall(page.read_text())
    if page.name == "README.md":
        found.sort(key=lambda block: block[0] == "console")
    for language, text in found:
        if language == "python":
            exec(compile(text, page.name, "exec"), namespace)
        elif language == "console":
            if page.name == "README.md":
                namespace.clear()
                for path in tmp_path.glob("agent.mnem*"):
                    path.unlink()
            for command, *expected in _commands(text):
                _run(command, expected)


def _run(command, expected):
    words = shlex.split(command)
    assert words[0] == "mnem"
    done = subprocess.run(
        [sys.executable, "-m", "mnemosyne_vcs", *words[1:]],
        check=False,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "MNEMOSYNE_URL"},
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    shown = _without_ids(" ".join(done.stdout.split()))
    for line in expected:
        assert _without_ids(" ".join(line.split())) in shown, command


def _commands(text: str) -> list[list[str]]:
    commands: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:]])
        elif line.strip():
            commands[-1].append(line)
    return commands


def _without_ids(text: str) -> str:
    """Leave out what differs from run to run: short ids, times and who is logged in."""
    text = re.sub(r"\b[a-z2-7]{10}\b", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", text)
    return re.sub(r"(ID TIME) \S+", r"\1", text)


def test_the_blocks_of_the_first_page_of_the_site_are_those_of_the_readme():
    first = BLOCK.findall((ROOT / "docs" / "index.md").read_text())
    readme = BLOCK.findall((ROOT / "README.md").read_text())
    assert first == [block for block in readme if block in first]
    assert {language for language, _ in first} == {"bash", "python", "console"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_blocks_name_what_exists(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    makefile = (ROOT / "Makefile").read_text()
    for text in blocks(page, "bash"):
        for line in text.splitlines():
            match shlex.split(line, comments=True):
                case ["pip", "install", name]:
                    extra = re.fullmatch(rf"{project['name']}(?:\[(\w+)\])?", name)
                    assert extra
                    assert extra[1] is None or extra[1] in project["optional-dependencies"]
                case ["make", target]:
                    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
                case ["mnem", verb]:
                    assert any(verb in verbs for verbs in SECTIONS.values())
                case other:
                    raise AssertionError(f"{page.name} shows {other}, which no test knows")


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").rglob("*.md"))], ids=str)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
