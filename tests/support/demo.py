"""What must hold of the demo's story."""

import re

import mnemosyne_vcs

__all__ = ["StoryChecks"]


class StoryChecks:
    """Tests; the fixture `played` gives the story, the path of its store and what was printed."""

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
