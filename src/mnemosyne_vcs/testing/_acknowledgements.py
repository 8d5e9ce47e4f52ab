"""What writers were told, and whether it is so."""

from collections.abc import Iterable, Mapping

import mnemosyne_vcs

__all__ = ["assert_kept", "commits_told"]


def commits_told(lines: Iterable[str]) -> dict[str, str]:
    """The commits that children told line by line, by the keys that they put."""
    return dict(line.split() for line in lines)


def assert_kept(url: str, acknowledged: Mapping[str, str]) -> None:
    """Nothing acknowledged is lost, nothing is half there, and the store goes on.

    Args:
        url: where `total` counts the other records, and `NAME/…` was put by the author `NAME`.
        acknowledged: commits by the keys that they put.
    """
    with mnemosyne_vcs.open(url) as repo:
        now = repo.at()
        assert acknowledged.keys() <= set(now)
        assert now["total"].content == len(now) - 1
        writers = {blame.key: blame.commit for blame in repo.blame_all()}
        for key, commit in acknowledged.items():
            assert (writers[key].id, writers[key].author) == (commit, key.split("/")[0])
        repo.put("after", True)
        assert repo.verify().ok
