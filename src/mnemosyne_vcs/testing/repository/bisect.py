# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: bisection."""

from collections.abc import Callable

import pytest

from mnemosyne_vcs import InconclusiveError, NotFoundError, Repository, Snapshot, ValidationError
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["BisectContract"]


def holds(key: str, value: object) -> Callable[[Snapshot], bool]:
    def predicate(memory: Snapshot) -> bool:
        record = memory.get(key)
        return record is not None and record.content == value

    return predicate


class BisectContract(RepositoryFixtures):
    """What a repository promises of bisection."""

    def test_a_belief_that_went_wrong(self, repo: Repository):
        repo.put("plan", "Enterprise")
        for number in range(10):
            repo.put(f"note/{number}", number)
        wrong = repo.put("plan", "Starter")
        repo.put("note/x", 1)
        assert repo.bisect(holds("plan", "Starter")).id == wrong.id
        assert repo.bisect(holds("plan", "Starter"), good="main~4").id == wrong.id
        assert repo.bisect(holds("note/0", 0), bad="main~5").message == "put note/0"

    def test_bisect_says_what_is_wrong_with_its_ends(self, repo: Repository):
        repo.put("a", 1)
        repo.create_branch("other")
        repo.put("a", 2, branch="other")
        repo.put("a", 3)
        with pytest.raises(NotFoundError, match="does not hold at main"):
            repo.bisect(holds("a", 9))
        with pytest.raises(ValidationError, match="in the empty memory"):
            repo.bisect(lambda memory: True)
        with pytest.raises(ValidationError, match="at main~1 already"):
            repo.bisect(lambda memory: "a" in memory, good="main~1")
        with pytest.raises(ValidationError, match="other is not in the past of main"):
            repo.bisect(holds("a", 3), good="other")
        with pytest.raises(ValidationError, match="answered 'yes'"):
            repo.bisect(lambda memory: "yes")  # type: ignore[arg-type, return-value]
        with pytest.raises(ZeroDivisionError):
            repo.bisect(lambda memory: bool(1 / 0))

    def test_only_skipped_commits_are_left(self, repo: Repository):
        first = repo.put("a", 1)
        second = repo.put("a", 2)
        third = repo.put("a", 3)

        def predicate(memory: Snapshot) -> object:
            return "skip" if memory.commit.id in (first.id, second.id) else "a" in memory

        with pytest.raises(InconclusiveError) as caught:
            repo.bisect(predicate)  # type: ignore[arg-type]
        assert [c.id for c in caught.value.candidates] == [first.id, second.id, third.id]
