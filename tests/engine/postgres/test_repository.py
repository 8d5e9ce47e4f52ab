"""The tests of repositories that any engine has to pass, on PostgreSQL."""

from borrowing import borrowed

globals().update(borrowed())


def test_what_is_borrowed_runs_in_postgresql(counted_url, repo):
    assert len(borrowed()) > 100
    assert counted_url.startswith("postgresql://")
    assert repo.url.startswith("postgresql://")
