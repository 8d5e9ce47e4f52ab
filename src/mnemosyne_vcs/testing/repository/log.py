# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: the log and what it can be asked for."""

from itertools import count

import pytest

from mnemosyne_vcs import Activity, NotFoundError, Provenance, Repository, ValidationError
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["LogContract"]


def messages(repo: Repository, **wanted: object) -> list[str]:
    return [commit.message for commit in repo.log(**wanted)]  # type: ignore[arg-type]


class Plain:
    """An engine with nothing but what every engine must have."""

    url, read_only = "plain://", False

    def __init__(self, engine) -> None:
        self.read, self.ref, self.refs = engine.read, engine.ref, engine.refs
        self.write = engine.write

    def close(self) -> None:
        pass


class LogContract(RepositoryFixtures):
    """What a repository promises of the log and what it can be asked for."""

    @pytest.fixture
    def story(self, repo: Repository) -> Repository:
        """A main line with a merged branch, by several authors and agents, a second apart."""
        repo = Repository(repo.blocks.engine, clock=count(1_789_999_980_000, 1000).__next__)
        repo.put(
            "t/a", 1, author="ann", message="1", provenance=Provenance(agent="x", source="doc")
        )
        repo.create_branch("side")
        repo.put("t/b", 1, author="bob", message="2", provenance=Provenance(agent="y", run="r1"))
        repo.put(
            "t/c", 1, author="cid", message="s", branch="side", provenance=Provenance(agent="x")
        )
        with repo.transaction(author="ann", message="3", trailers={"Run-Id": "r1"}) as tx:
            tx.put("u", 1, provenance=Provenance(agent="y", source="doc"))
        repo.merge("side", message="m", author="lead")
        repo.delete("t/b", author="ann", message="4")
        return repo

    def test_the_filters_of_a_log(self, story: Repository):
        assert messages(story) == ["4", "m", "3", "s", "2", "1"]
        assert messages(story, first_parent=True) == ["4", "m", "3", "2", "1"]
        assert messages(story, author="ann") == ["4", "3", "1"]
        assert messages(story, agent="x") == ["s", "1"]
        assert messages(story, source="doc") == ["3", "1"]
        assert messages(story, agent="y", source="doc") == ["3"]
        assert messages(story, run="r1") == ["2"]
        named = ("Run-Id", "r1")
        assert messages(story, trailer=named) == ["3"]
        assert messages(story, trailer=named, agent="x") == []
        assert messages(story, trailer=named, run="r1") == ["3", "2"]
        assert messages(story, trailer=named, run="r1", author="ann", limit=1) == ["3"]
        assert messages(story, trailer=("Run-Id", "r"), run="r1") == ["2"]
        assert messages(story, agent="nobody") == []

    def test_the_runs_sources_and_agents_of_a_history(self, story: Repository):
        def told(found: list[Activity]) -> list[tuple[str, int, str, str]]:
            return [(a.name, a.commits, a.first.message, a.last.message) for a in found]

        assert told(story.runs()) == [("r1", 2, "2", "3")]
        assert told(story.sources()) == [("doc", 2, "1", "3")]
        assert told(story.agents()) == [("y", 2, "2", "3"), ("x", 2, "1", "s")]
        assert told(story.agents("side")) == [("x", 2, "1", "s")]
        assert told(story.agents(all=True)) == told(story.agents())
        assert told(story.agents(limit=1)) == [("y", 2, "2", "3")]
        assert story.agents(limit=0) == story.runs("side") == []
        with pytest.raises(ValidationError, match="without a revision"):
            story.agents("side", all=True)

    def test_a_log_of_a_key_or_below_a_prefix(self, story: Repository):
        assert messages(story, key="t/b") == ["4", "2"]
        assert messages(story, prefix="t/") == ["4", "s", "2", "1"]
        assert messages(story, prefix="t/", author="ann") == ["4", "1"]
        assert messages(story, prefix="v") == []
        assert messages(story, prefix="t/", first_parent=True) == ["4", "m", "2", "1"]
        assert messages(story, key="t/c", first_parent=True) == ["m"]
        assert messages(story, key="t/c") == ["s"]
        with pytest.raises(ValidationError, match="give either a key or a prefix"):
            story.log(key="a", prefix="b")
        with pytest.raises(NotFoundError, match="'none'"):
            story.log(key="none")

    def test_a_log_follows_a_moved_key(self, repo: Repository):
        repo.put("old", 1, message="1")
        with repo.transaction(message="2") as tx:
            tx.move("old", "new")
        repo.put("new", 2, message="3")
        assert messages(repo, key="new") == ["3", "2", "1"]
        assert messages(repo, key="new", first_parent=True) == ["3", "2", "1"]
        assert messages(repo, key="old") == ["2", "1"]

    def test_an_engine_without_an_index_answers_the_same(self, story: Repository):
        plain = Repository(Plain(story.blocks.engine))
        for wanted in ({"prefix": "t/"}, {"key": "t/b"}, {"agent": "x"}, {"key": "t/c"}):
            assert messages(plain, **wanted) == messages(story, **wanted)
        blames = [[blame.commit.id for blame in each.blame_all()] for each in (plain, story)]
        assert blames[0] == blames[1]

    @pytest.fixture
    def forked(self, repo: Repository) -> Repository:
        """Two branches that went apart, and a tag on a commit that no branch has any more."""
        repo = Repository(repo.blocks.engine, clock=count(1_789_999_980_000, 1000).__next__)
        repo.put("t/a", 1, message="1", author="ann")
        repo.create_branch("side")
        repo.create_branch("gone")
        repo.put("t/a", 2, message="2", author="ann")
        repo.put("t/b", 2, message="s", branch="side", author="bob")
        repo.put("u", 2, message="g", branch="gone", author="bob")
        repo.create_tag("v1", "gone")
        repo.delete_branch("gone")
        return repo

    def test_the_log_of_all_branches_and_tags(self, forked: Repository):
        assert messages(forked, all=True) == ["g", "s", "2", "1"]
        assert messages(forked, all=True, limit=1) == ["g"]
        assert messages(forked, all=True, author="bob") == ["g", "s"]
        assert messages(forked, all=True, key="t/a") == ["2", "1"]
        assert messages(forked, all=True, key="u") == ["g"]
        assert messages(forked, all=True, prefix="t/") == ["s", "2", "1"]
        assert messages(forked, all=True, since=1_789_999_981_500) == ["g", "s", "2"]
        with pytest.raises(NotFoundError, match="no commit had a record 'z'"):
            forked.log(all=True, key="z")

    def test_the_log_of_all_branches_takes_no_revision(self, forked: Repository):
        for wrong in ({"revision": "side"}, {"first_parent": True}):
            with pytest.raises(ValidationError, match="all branches"):
                forked.log(all=True, **wrong)  # type: ignore[arg-type]
