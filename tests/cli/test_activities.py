"""`mnem runs`, `mnem sources` and `mnem agents`."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Provenance
from mnemosyne_vcs.model import moment_text


class TestActivities:
    @pytest.fixture
    def busy(self, store):
        """Three more commits of one run, from two sources, by two agents."""
        with mnemosyne_vcs.open(store.path) as repo:
            for number, agent in enumerate(["Clerk", "Clerk", "Biller"]):
                known = Provenance(run="r-1", source=f"mail-{number // 2}", agent=agent)
                made = repo.put(f"mails/{number}", number, provenance=known)
        return made

    def test_text(self, mnem, busy):
        newest, *_ = mnem("runs").lines

        assert newest.split()[:3] == ["r-1", "3", "commits"]
        assert newest.endswith(moment_text(busy.timestamp_ms))

    def test_json_and_limit(self, mnem, busy):
        [newest, before] = mnem("sources", "-n", "2", "--json").jsonl

        assert (newest["name"], newest["commits"], newest["last"]["id"]) == ("mail-1", 1, busy.id)
        assert (before["name"], before["commits"]) == ("mail-0", 2)
        assert before["first"]["id"] == before["last"]["parents"][0]

    def test_up_to_a_revision_and_on_all_branches(self, mnem, busy):
        def names(*arguments):
            return [each["name"] for each in mnem("agents", *arguments, "--json").jsonl]

        assert names()[:2] == ["Biller", "Clerk"]
        assert names("main~1")[:1] == ["Clerk"]
        assert set(names("--all")) >= {"Biller", "Clerk"}
        mnem("agents", "main", "--all", code=2)

    def test_none(self, mnem, tmp_path):
        path = tmp_path / "empty.mnem"
        mnemosyne_vcs.open(path, create=True).close()

        ran = mnem("-s", path, "runs")
        assert ran.stdout == "" and "no run up to main" in ran.stderr
        assert mnem("-s", path, "runs", "--json").stdout == ""
