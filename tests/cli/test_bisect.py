"""`mnem bisect`: when a fault came in, told by a record or by a command."""

import shlex
import sys

import pytest

import mnemosyne_vcs

FAULT = 11
MNEM = f"{sys.executable} -m mnemosyne_vcs"


@pytest.fixture
def commits(tmp_path):
    """Twenty commits; in one of them the plan becomes Free, and a note appears, another goes."""
    with mnemosyne_vcs.open(tmp_path / "memory.mnem", create=True, author="crew") as repo:
        repo.put("old/note", "read me")
        for number in range(20):
            with repo.transaction(message=f"commit {number}", trailers={"Run-Id": "r"}) as tx:
                tx.put("n", number)
                if number in (0, FAULT):
                    tx.put("plan", {"tier": "Free" if number == FAULT else "Team", "seats": 3})
                if number == FAULT:
                    tx.put("new/note", "hello")
                    tx.delete("old/note")
        return [commit.id for commit in repo.log()][-2::-1]


@pytest.mark.parametrize(
    "fault",
    [
        ("--key", "plan", "--equals", '{"seats": 3, "tier": "Free"}'),
        ("--key", "plan", "--field", "tier", "--equals", '"Free"'),
        ("--key", "new/note", "--present"),
        ("--key", "pla", "--field", "tier", "--equals", '"Free"'),
        ("--key", "old/note", "--absent", "--good", "main~18"),
    ],
)
def test_by_a_record(mnem, commits, fault):
    found = mnem("bisect", *fault, "--json").json

    assert found["commit"]["id"] == commits[FAULT]
    assert {change["key"] for change in found["changes"]} == {"n", "plan", "new/note", "old/note"}


def test_text_names_the_commit_and_what_it_changed(mnem, commits):
    ran = mnem("bisect", "--key", "plan", "--field", "tier", "--equals", '"Free"')

    assert ran.lines[0] == "The first bad commit"
    assert ran.lines[1].endswith(f"crew  commit {FAULT}")
    assert 'tier: "Team" → "Free"' in ran.stdout
    steps = ran.stderr.splitlines()
    assert {step.split()[0] for step in steps} == {"good", "bad"}
    assert len(steps) <= 8


def test_each_commit_is_looked_at_once(mnem, commits):
    steps = mnem("bisect", "--key", "new/note", "--present").stderr.splitlines()

    assert len(set(steps)) == len(steps)


def test_between_two_commits(mnem, commits):
    ran = mnem("bisect", "--key", "new/note", "--present", "--good", "main~12", "--bad", "main~4")

    assert f"commit {FAULT}" in ran.lines[1]
    assert "commit 19" not in ran.stderr


class TestCommand:
    def test_it_gets_the_commit_and_the_store(self, process, commits):
        test = f'! {MNEM} show "$MNEM_COMMIT:new/note" > /dev/null 2>&1'
        found = process("bisect", "--json", "--", "sh", "-c", test).json

        assert found["commit"]["id"] == commits[FAULT]

    def test_exit_codes_are_those_of_git(self, process, commits):
        cases = "".join(f"{id}) exit 125;; " for id in commits[5:FAULT])
        cases += "".join(f"{id}) exit 127;; " for id in commits[FAULT + 1 :])
        cases += f"{commits[FAULT]}) exit 1;; "
        script = f"case $MNEM_COMMIT in {cases} esac"
        ran = process("bisect", "--", "sh", "-c", script, code=12)

        assert "skip" in ran.stderr

    @pytest.mark.parametrize("end", ["exit 128", "exit 200", "kill -9 $$"])
    def test_it_can_end_the_search(self, mnem, commits, end):
        ran = mnem("bisect", "--", "sh", "-c", end, code=1)

        assert "stopped" in ran.stderr and commits[-1] in ran.stderr

    def test_its_output_does_not_mix_with_json(self, process, commits):
        test = f'echo looking; ! {MNEM} show "$MNEM_COMMIT:new/note" > /dev/null 2>&1'

        assert process("bisect", "--json", "--", "sh", "-c", test).json["changes"]
        assert "looking" in process("bisect", "--", "sh", "-c", test).stdout

    def test_one_that_is_not_there(self, mnem, commits):
        assert "/no/such" in mnem("bisect", "--", "/no/such/command", code=1).stderr


class TestRefusals:
    @pytest.mark.parametrize(
        "arguments",
        [
            "",
            "--key plan",
            "--key plan --absent --present",
            "--key plan --equals 1 --absent",
            "--key plan --absent -- true",
            "--absent -- true",
            "--absent",
            "--field tier -- true",
        ],
    )
    def test_usage(self, mnem, commits, arguments):
        mnem("bisect", *shlex.split(arguments), code=2)

    def test_a_text_without_quotes(self, mnem, commits):
        ran = mnem("bisect", "--key", "plan", "--equals", "Free", code=5)

        assert """--equals '"Free"'""" in ran.stderr

    def test_a_fault_that_is_not_there(self, mnem, commits):
        ran = mnem("bisect", "--key", "plan", "--equals", "0", code=3)

        assert "main does not have the fault" in ran.stderr and "--bad" in ran.stderr

    def test_a_fault_that_was_there_from_the_beginning(self, mnem, commits):
        ran = mnem("bisect", "--key", "old/note", "--absent", code=5)
        assert "empty memory" in ran.stderr and "--good" in ran.stderr

        ran = mnem("bisect", "--key", "old/note", "--absent", "--good", "main~3", code=5)
        assert "main~3 has the fault already" in ran.stderr

    def test_revisions_that_are_not_there(self, mnem, commits):
        mnem("bisect", "--key", "n", "--present", "--bad", "nope", code=3)
        mnem("bisect", "--key", "n", "--present", "--good", "nope", code=3)


@pytest.mark.parametrize("command", ["no-such-program-anywhere", "nul\0", "/"])
def test_a_command_that_cannot_be_started(mnem, store, command):
    ran = mnem("bisect", "-s", str(store.path), "--", command, code=1)

    assert "cannot be started" in ran.stderr and "Traceback" not in ran.stderr
