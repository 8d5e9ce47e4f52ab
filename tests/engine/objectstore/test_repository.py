"""The tests of repositories that any engine has to pass, on an object store."""

from borrowing import borrowed

globals().update(borrowed())


def test_what_is_borrowed_runs_on_an_object_store(counted_url, repo):
    assert len(borrowed()) > 100
    assert counted_url.startswith("s3://")
    assert repo.url.startswith("s3://")
