"""The demo as it comes with the package, and the parts that it is made of."""

import io
import json
import math
import re
import subprocess
import sys

import pytest
from rich.console import Console

from demo import StoryChecks
from mnemosyne_vcs.cli.demo import reader, run
from mnemosyne_vcs.cli.demo.embedder import DIMENSION, embed
from mnemosyne_vcs.errors import AlreadyExistsError

TICKET = "Ticket 7: Customer 12 writes: we are on the Team plan, so answer within 1 day."
NOTE = "Note 9: Customer 12 asked what a downgrade to Free would change."
HANDBOOK = "Enterprise within 4 hours, Free within 5 days."


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def action_input(text):
    return json.loads(re.search(r"Action Input: (.*)", text)[1])


class TestReader:
    def test_it_notes_what_a_document_states(self):
        step = reader.respond(f"{HANDBOOK}\n{TICKET}")

        assert action_input(step) == {
            "content": "Customer 12 is on plan Team, with answers within 1 day.",
            "customer": "12",
            "source": "ticket-7",
        }

    def test_it_takes_a_question_about_a_downgrade_for_one(self):
        noted = action_input(reader.respond(f"{HANDBOOK}\n{NOTE}"))

        assert noted["content"] == "Customer 12 is on plan Free, with answers within 5 days."
        assert noted["source"] == "note-9"

    def test_it_stops_when_the_fact_is_noted(self):
        noted = "Noted: Customer 12 is on plan Team, with answers within 1 day."

        assert "Final Answer: Customer 12 is on plan Team" in reader.respond(f"{TICKET}\n{noted}")

    @pytest.mark.parametrize("plan, time", [("Free", "5 days"), ("Enterprise", "4 hours")])
    def test_it_answers_what_the_best_memory_of_the_customer_says(self, plan, time):
        prompt = (
            "Customer 12 asks: when?\n"
            "- (score=0.9) Customer 13 is on plan Team, with answers within 1 day.\n"
            f"- (score=0.8) Customer 12 is on plan {plan}, with answers within {time}.\n"
            "- (score=0.7) Customer 12 is on plan Other, with answers within 9 days.\n"
        )

        assert reader.answer(prompt) == (
            f"You will have an answer within {time}, as on every {plan} plan."
        )

    def test_it_knows_nothing_without_a_memory(self):
        assert reader.answer("Customer 12 asks: when?") == "I do not know the plan of customer 12."

    def test_it_replaces_what_was_believed_of_the_same_customer_only(self):
        new = "Customer 12 is on plan Free, with answers within 5 days."
        stored = [("a", "Customer 12 is on plan Team, with answers within 1 day."),
                  ("b", "Customer 13 is on plan Team, with answers within 1 day."),
                  ("c", "Customer 12 prefers mail.")]  # fmt: skip
        listed = "\n\n".join(f"- id={i} | scope=/\n  content: {text}" for i, text in stored)

        plan = json.loads(reader.consolidate(f"New content:\n{new}\n\nExisting:\n{listed}"))

        actions = {action["record_id"]: action["action"] for action in plan["actions"]}
        assert actions == {"a": "delete", "b": "keep", "c": "keep"}
        assert plan["insert_new"]

    def test_it_looks_up_each_customer_of_a_long_task(self):
        analysis = json.loads(reader.distil("Query: Customer 12 and customer 13, and customer 12"))

        assert [re.search(r"\d+", query)[0] for query in analysis["recall_queries"]] == ["12", "13"]


class TestEmbedder:
    def test_vectors_have_length_one_and_are_the_same_every_time(self):
        first, second = embed(["Customer 12 is on plan Team"] * 2)

        assert first == second
        assert len(first) == DIMENSION
        assert math.isclose(math.hypot(*first), 1.0)

    def test_texts_that_share_words_are_nearer(self):
        plan, other_plan, unrelated = embed(
            ["Customer 12 is on plan Team", "Customer 12 is on plan Free", "Rain again tomorrow"]
        )

        assert cosine(plan, other_plan) > 0.5 > cosine(plan, unrelated) + 0.3

    def test_a_text_without_words_is_all_zeros(self):
        assert embed(["…"]) == [[0.0] * DIMENSION]


@pytest.fixture(scope="class")
def played(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.mnem"
    printed = io.StringIO()
    story = run(path, Console(file=printed, width=200))
    return story, path, printed.getvalue()


class TestStory(StoryChecks):
    def test_it_does_not_touch_what_is_there(self, tmp_path):
        path = tmp_path / "mine.mnem"
        path.write_text("mine")
        with pytest.raises(AlreadyExistsError, match=r"mine\.mnem"):
            run(path, Console(file=io.StringIO()))
        assert path.read_text() == "mine"

    def test_it_needs_no_framework_and_no_network(self, tmp_path):
        code = (
            "import socket, sys; from pathlib import Path; from rich.console import Console;"
            "socket.socket.connect = socket.getaddrinfo = None; sys.modules['crewai'] = None;"
            "from mnemosyne_vcs.cli.demo import run; run(Path(sys.argv[1]), Console(width=120))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "demo.mnem")],
            capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip

        assert done.stderr == ""
        chapters = [line for line in done.stdout.splitlines() if re.match(r"\S", line)]
        assert len(chapters) == 6


class TestCommand:
    def test_it_leaves_a_store_that_mnem_finds(self, mnem, here):
        assert "Account reviewer" in mnem("demo").stdout

        assert (here / "demo.mnem").is_file()
        assert [commit["message"] for commit in mnem("log", "--json").jsonl][:2] == [
            "note 118 was misread",
            "learn from note-118",
        ]
        mnem("demo", code=11)

    def test_with_json_it_prints_the_commits(self, mnem):
        shown = mnem("demo", "--json").json

        assert shown["undone"]["trailers"]["Undoes"] == shown["poisoned"]["id"]

    def test_without_crewai_it_says_how_to_get_it(self, mnem, monkeypatch):
        monkeypatch.setitem(sys.modules, "crewai", None)
        for name in [name for name in sys.modules if name.startswith("crewai.")]:
            monkeypatch.delitem(sys.modules, name)

        ran = mnem("demo", "--crewai", code=1)

        assert "pip install 'mnemosyne-vcs[crewai]'" in ran.stderr


class TestWithoutAVerb:
    def test_where_there_is_no_store_it_says_how_to_begin(self, mnem, monkeypatch):
        monkeypatch.chdir("/")  # stores are looked for in the directories above too

        ran = mnem()

        for command in ("mnem demo", "mnem init", "mnem --help", "docs/"):
            assert command in ran.stdout

    def test_where_there_is_a_store_it_lists_the_verbs(self, mnem, here):
        mnem("init")

        assert mnem().lines[0].startswith("Usage: mnem")

    def test_where_there_are_several_stores_it_lists_the_verbs(self, mnem, here):
        mnem("init", "a.mnem")
        mnem("init", "b.mnem")

        assert mnem().lines[0].startswith("Usage: mnem")

    def test_with_json_a_verb_is_needed(self, mnem):
        assert mnem("--json", code=2).error["message"] == "no command was given"
