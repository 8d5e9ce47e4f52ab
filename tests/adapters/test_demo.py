"""The demo, played whole, and the parts that it is made of."""

import io
import json
import math
import os
import re
import subprocess
import sys

import pytest

from mnemosyne_vcs.cli.demo import reader
from mnemosyne_vcs.cli.demo.embedder import DIMENSION, embed

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
    pytest.importorskip("crewai")
    from rich.console import Console

    from mnemosyne_vcs.cli.demo import run

    path = tmp_path_factory.mktemp("demo") / "demo.mnem"
    printed = io.StringIO()
    story = run(path, Console(file=printed, width=200))
    return story, path, printed.getvalue()


@pytest.mark.crewai
class TestStory:
    def test_the_answers_follow_the_memory(self, played):
        story, _, _ = played

        answers = [story.right, story.wrong, story.healed, story.then, story.before]
        plans = [re.search(r"every (\w+) plan", answer.text)[1] for answer in answers]
        assert plans == ["Enterprise", "Free", "Enterprise", "Free", "Enterprise"]

    def test_blame_names_who_misread_what(self, played):
        story, _, _ = played

        provenance = story.wrong_blame.record.provenance
        assert provenance.agent == "Account reviewer"
        assert provenance.task == "Note 118"
        assert provenance.source == "note-118"
        assert provenance.run == story.poisoned.trailers["Run-Id"]
        assert story.wrong_blame.commit.id == story.poisoned.id

    def test_after_the_undo_blame_names_the_first_writer_again(self, played):
        story, _, _ = played

        provenance = story.healed_blame.record.provenance
        assert provenance.agent == "Onboarding analyst"
        assert provenance.source == "ticket-7731"
        assert provenance.run == story.learned.trailers["Run-Id"]
        assert story.healed_blame.commit.trailers["Run-Id"] == provenance.run
        assert story.learned.trailers["Run-Id"] != story.poisoned.trailers["Run-Id"]

    def test_the_undo_gives_the_earlier_state_and_keeps_the_history(self, played):
        import mnemosyne_vcs

        story, path, _ = played
        with mnemosyne_vcs.open(str(path)) as repository:
            commits = [commit.id for commit in repository.log()]
            assert commits[0] == story.undone.id
            assert commits.index(story.poisoned.id) < commits.index(story.learned.id)
            assert not list(repository.diff(story.learned.id, story.undone.id))
            assert repository.verify().ok

    def test_what_is_printed_is_what_happened_and_nothing_else(self, played):
        story, path, printed = played

        for answer in (story.right, story.wrong):
            assert answer.text in printed
        for fact in ("Account reviewer", "note-118", "ticket-7731", story.wrong_blame.key):
            assert fact in printed
        commands = re.findall(r"^  (mnem -s .*)$", printed, re.M)
        assert [command.split()[3] for command in commands] == ["log", "why", "show"]
        assert str(path) in commands[0]
        assert not re.search("[╭╰│\x1b]", printed)

    def test_it_does_not_touch_what_is_there(self, tmp_path):
        pytest.importorskip("crewai")
        from rich.console import Console

        from mnemosyne_vcs.cli.demo import run
        from mnemosyne_vcs.errors import AlreadyExistsError

        path = tmp_path / "mine.mnem"
        path.write_text("mine")
        with pytest.raises(AlreadyExistsError, match=r"mine\.mnem"):
            run(path, Console(file=io.StringIO()))
        assert path.read_text() == "mine"

    def test_as_a_process_of_its_own_only_the_story_is_heard(self, tmp_path):
        pytest.importorskip("crewai")
        code = (
            "import socket, sys; from pathlib import Path; from rich.console import Console;"
            "socket.socket.connect = socket.getaddrinfo = None;"
            "from mnemosyne_vcs.cli.demo import run; run(Path(sys.argv[1]), Console(width=120))"
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
