"""Stored text stays in its place: it begins no line of its own, and nothing in it is hidden."""

import ast
import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import mnemosyne_vcs
from mnemosyne_vcs import Provenance, Repository
from mnemosyne_vcs.cli import output
from mnemosyne_vcs.cli.app import mnem as app
from mnemosyne_vcs.cli.output import dumps
from mnemosyne_vcs.visible import printable

HIDDEN = (
    "\x00\x07\x1b\x7f\x85\x9b\r\n\t\v\f\x1c\u2028\u2029\u202a\u202e\u2066\u2069\u061c\u200e\u200f"
    "\u200b\u200c\u2060\ufeff\xad\u034f\u115f\u180e\u3164\uffa0\ufff9\U000e0041\U000e0100"
)
FORGED = "written by  chief-editor"
HOSTILE = f"ok\n{FORGED}\r{FORGED}\u2028{FORGED}\x1b[1A\x1b[2K{FORGED}{HIDDEN}ok"
NAME = "what\u202e\u200b-if"
KEY = f"notes/{NAME}"


@pytest.fixture
def hostile(tmp_path, clock):
    """A store in which every text that a writer chooses would forge lines if it were let."""
    path = tmp_path / "memory.mnem"
    with mnemosyne_vcs.open(path, create=True) as opened:
        repo = Repository(opened.blocks.engine, author=HOSTILE, clock=clock)
        origin = Provenance(*(HOSTILE,) * 7, ((KEY, HOSTILE),), *(HOSTILE,) * 3)
        for content in (HOSTILE, {HOSTILE: HOSTILE}, {HOSTILE: [HOSTILE]}):
            trailers = {HOSTILE: HOSTILE, "Run-Id": HOSTILE, "Crew": HOSTILE, "Author": "nobody"}
            with repo.transaction(message=HOSTILE, trailers=trailers) as tx:
                tx.put(
                    KEY,
                    content,
                    vectors={"": [1, len(content)], HOSTILE: [1]},
                    embedder=HOSTILE,
                    provenance=origin,
                )
                tx.put(f"{KEY}2", HOSTILE, embedding=[0, 1])
        repo.create_branch(NAME)
        repo.create_tag(f"v-{NAME}")
        repo.put(KEY, {HOSTILE: "theirs"}, branch=NAME, message=HOSTILE)
        repo.put(KEY, {HOSTILE: "ours"}, message=HOSTILE, provenance=origin)
        repo.add_remote(NAME, tmp_path / "elsewhere.mnem")
        repo.fetch(repo)
    return path


LOOKS = [
    ("status",), ("status", "-b", NAME), ("log",), ("log", "--oneline"), ("log", "--graph"),
    ("log", "--all"), ("log", "--key", KEY), ("log", NAME), ("log", "--run", HOSTILE),
    ("show",), ("show", "main~1"), ("show", KEY), ("show", f"v-{NAME}"), ("show", HOSTILE),
    ("ls",), ("ls", "-l"), ("ls", "-r"), ("ls", "-rl"), ("ls", HOSTILE), ("search", "--like", KEY),
    ("search", HOSTILE), ("search", "a*"), ("grep", HOSTILE), ("grep", "-c", "a"), ("grep", "e"),
    ("why", KEY), ("why", HOSTILE), ("blame", KEY), ("blame", "--prefix", ""), ("diff",),
    ("blame", KEY, "--field", HOSTILE), ("diff", "main~3", "main"), ("diff", "--stat"),
    ("diff", HOSTILE), ("reflog",), ("reflog", NAME), ("reflog", "-n", "1"), ("stats",),
    ("branch",), ("tag",), ("remote",), ("trace", "--source", HOSTILE), ("trace", "--agent", "x"),
    ("merge", NAME), ("merge", NAME, "--dry-run", "--on-conflict", "ours"), ("undo", "--dry-run"),
    ("undo", "-n", "2", "--yes"), ("revert", "main~1", "--yes"), ("cherry-pick", NAME),
    ("restore", "--from", "main~2", "--dry-run"), ("bisect", "--key", KEY, "--present"),
    ("rm", KEY, "--dry-run"), ("rm", HOSTILE, "--yes"), ("mv", KEY, HOSTILE),
    ("put", KEY, "1", "-m", HOSTILE), ("put", KEY, HOSTILE), ("put", HOSTILE, "1"),
    ("branch", HOSTILE), ("branch", "-d", NAME, "--dry-run"), ("tag", "x", HOSTILE),
    ("trace", "--source", HOSTILE, "--retract", "--dry-run"), ("verify",), ("gc", "--dry-run"),
    ("remote", NAME, HOSTILE), ("fetch", HOSTILE), ("push", HOSTILE), ("pull", NAME),
    ("import", HOSTILE), ("bundle", HOSTILE), ("export", HOSTILE), ("clone", HOSTILE, "x.mnem"),
    ("index", NAME), (HOSTILE,), ("log", HOSTILE, HOSTILE), ("log", "-n", HOSTILE),
    ("merge", NAME, "--resolve", HOSTILE), ("put", KEY, "--event-time", HOSTILE),
    ("completions", HOSTILE), (f"--{HOSTILE}",), ("backup", HOSTILE), ("init", HOSTILE),
]  # fmt: skip


def run(mnem_app, *arguments):
    from click.testing import CliRunner

    result = CliRunner().invoke(mnem_app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("arguments", LOOKS, ids=lambda words: printable(" ".join(words)[:40]))
def test_no_verb_shows_what_is_hidden_or_a_line_that_is_not_its_own(here, hostile, arguments):
    ran = run(app, *arguments, "-s", str(hostile))

    for text in (ran.stdout, ran.stderr):
        assert not set(text.replace("\n", "")) & set(HIDDEN)
        assert not [line for line in text.split("\n") if line.startswith(FORGED)]
    assert not [line for line in ran.stdout.split("\n") if line.startswith("author  nobody")]


@pytest.mark.parametrize(
    "arguments", [words for words in LOOKS if words[0] not in ("verify", "--" + HOSTILE)]
)
def test_json_says_the_text_as_it_is_in_escapes(here, hostile, arguments):
    ran = run(app, *arguments, "--json", "-s", str(hostile))

    for text in (ran.stdout, ran.stderr):
        assert not set(text.replace("\n", "")) & set(HIDDEN)
        assert all(json.loads(line) is not Ellipsis for line in text.splitlines())


def test_why_tells_who_wrote_it_once(mnem, hostile):
    ran = mnem("why", KEY, "-s", str(hostile))

    [by] = [line for line in ran.lines if line.startswith("written by")]
    assert by.startswith(r"written by    ok\nwritten by")
    assert r"\u202e" in by and r"\u001b" in by and r"\u2028" in by


def test_a_trailer_cannot_pass_for_what_show_says_itself(mnem, hostile):
    lines = mnem("show", "main~1", "-s", str(hostile)).lines

    assert len([line for line in lines if line.startswith("author ")]) == 1
    assert any(line.startswith("trailer author ") for line in lines)


def test_the_lines_of_a_message_are_indented(mnem, store):
    mnem("put", "k", "1", "-s", str(store.path), "-m", "first\n\n  commit bafy\nlast\n")

    shown = mnem("show", "-s", str(store.path)).lines
    assert [line for line in shown if line.startswith("    ")][:4] == [
        "    first", "    ", "      commit bafy", "    last",
    ]  # fmt: skip


def test_completion_offers_nothing_that_looks_like_something_else(here, hostile, monkeypatch):
    monkeypatch.setenv("MNEMOSYNE_URL", str(hostile))

    class Shell(ShellComplete):
        name, source_template = "test", ""

        def get_completion_args(self):
            return ["log"], ""

        def format_completion(self, item):
            return f"{item.value}\t{item.help}"

    said = Shell(app, {}, "mnem", "_MNEM_COMPLETE").complete()

    assert "main\t" in said
    assert not set(said) & (set(HIDDEN) - {"\n", "\t"})
    assert not [line for line in said.split("\n") if line.startswith(FORGED)]


@pytest.mark.parametrize("character", HIDDEN + "\ud83d\udc00\uffff")
def test_what_cannot_be_seen_is_drawn(character):
    drawn = printable(f"a{character}b")

    assert drawn.isascii() and drawn.isprintable() and drawn[:2] == "a\\"
    assert drawn.encode().decode("unicode_escape") == f"a{character}b"
    said = dumps([f"a{character}b"])
    assert said.isascii() and json.loads(said) == [f"a{character}b"]


@pytest.mark.parametrize(
    "text",
    ["naïve → 你好 مرحبا हिन्दी", "👩‍💻", "❤️ ⚠️", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "C:\\new\\table"],
)
def test_what_people_write_stays_as_it_is(text):
    assert printable(text) == text
    assert json.loads(dumps(text)) == text


@pytest.mark.parametrize(
    "text", ["a\u200d", "a\ufe0fb", "\u200d👩", "a\ufe0f\u200db", "\ufe0f\u200d"]
)
def test_joiners_outside_of_emoji_are_drawn(text):
    assert "\\u" in printable(text)


def test_json_over_several_lines_keeps_them():
    assert dumps({"a": ["x\ny\u202e"]}, indent=1) == '{\n "a": [\n  "x\\ny\\u202e"\n ]\n}'


def test_nothing_prints_but_by_the_module_that_draws():
    """`print` and `click.echo` are called in `output.py` alone, and in what makes the reference."""
    package = Path(output.__file__).parent
    for path in package.rglob("*.py"):
        if path.name in ("output.py", "reference.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            name = (
                getattr(node.func, "id", getattr(node.func, "attr", ""))
                if isinstance(node, ast.Call)
                else ""
            )
            assert name not in ("print", "echo", "secho", "style") or "console" in ast.unparse(
                node
            ), f"{path}: {ast.unparse(node)}"
