"""Writes that are a commit of their own."""

import pytest

from mnemosyne_vcs import (
    AlreadyExistsError,
    NotFoundError,
    Provenance,
    ReadOnlyError,
    RefConflictError,
    Repository,
    ValidationError,
)


def contents(repo, revision="main"):
    return {key: record.content for key, record in repo.at(revision).items()}


class TestPutMany:
    def test_is_one_commit(self, repo):
        repo.put("a", 0)
        before = repo.resolve()

        commit = repo.put_many(
            {"a": 1, "b": {"n": 2}, "c": None},
            embeddings={"b": [1, 2]},
            embedder="m1",
            provenance=Provenance(source="mail"),
            event_time=7,
            author="me",
        )

        assert contents(repo) == {"a": 1, "b": {"n": 2}, "c": None}
        assert commit.parents == (before.id,)
        assert (commit.author, commit.message) == ("me", "put 3 records")
        assert [each.transaction_id for each in repo.at().values()] == [commit.transaction_id] * 3
        assert repo["b"].embedding.tolist() == [1, 2]
        assert (repo["b"].embedder, repo["a"].embedder) == ("m1", None)
        assert {each.provenance.source for each in repo.at().values()} == {"mail"}
        assert {each.event_time for each in repo.at().values()} == {7}

    def test_of_nothing_new_is_the_head(self, repo):
        head = repo.put("a", 1)

        assert repo.put_many({"a": 1}) == repo.put_many({}) == head

    def test_embeds_texts_at_once(self, repo):
        asked = []

        def embed(texts):
            asked.append(texts)
            return [[len(text), 1] for text in texts]

        repo = Repository(repo.blocks.engine, embed=embed)
        repo.put_many(
            dict.fromkeys("abcd", 0), embeddings={"a": "x", "b": "yy", "c": "x", "d": [0, 1]}
        )

        assert asked == [["x", "yy"]]
        assert [repo[key].embedding.tolist() for key in "abcd"] == [[1, 1], [2, 1], [1, 1], [0, 1]]

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ({"contents": {"a": 1, "b": object()}}, "content of 'b'"),
            ({"contents": {"a": 1, "": 2}}, "key"),
            ({"contents": {"a": 1}, "embeddings": {"b": [1]}}, "'b'"),
            ({"contents": {"a": 1}, "embeddings": {"a": "text"}}, "without `embed`"),
        ],
    )
    def test_writes_nothing_if_one_is_not_valid(self, repo, arguments, named):
        head = repo.resolve()

        with pytest.raises(ValidationError, match=named):
            repo.put_many(**arguments)

        assert repo.resolve() == head


class TestMove:
    def test_takes_history_along(self, repo):
        put = repo.put("old", 1, branch="main")

        commit = repo.move("old", "new")

        assert contents(repo) == {"new": 1}
        assert commit.message == "move old to new"
        assert [each.commit for each in repo.history("new")] == [commit, put]

    def test_to_a_key_that_is_taken_is_refused(self, repo):
        repo.put_many({"a": 1, "b": 2})

        with pytest.raises(AlreadyExistsError, match="'b'"):
            repo.move("a", "b")
        with pytest.raises(NotFoundError, match="'c'"):
            repo.move("c", "d")
        assert contents(repo) == {"a": 1, "b": 2}


class TestDelete:
    def test_of_a_prefix(self, repo):
        repo.put_many({"a": 0, "a/1": 1, "a/2": 2, "b": 3})

        commit = repo.delete(prefix="a/")

        assert contents(repo) == {"a": 0, "b": 3}
        assert commit.message == "delete everything below 'a/'"
        repo.delete(prefix="")
        assert contents(repo) == {}

    def test_of_a_prefix_without_keys_is_refused(self, repo):
        repo.put("a", 1)
        head = repo.resolve()

        with pytest.raises(NotFoundError, match="'b/'"):
            repo.delete(prefix="b/")
        assert repo.resolve() == head

    def test_takes_a_key_or_a_prefix(self, repo):
        repo.put("a", 1)
        for arguments in ({}, {"key": "a", "prefix": "a"}):
            with pytest.raises(ValidationError, match="a key or a prefix"):
                repo.delete(**arguments)
        assert contents(repo) == {"a": 1}


@pytest.mark.parametrize(
    "write",
    [
        lambda repo, **more: repo.put_many({"a": 2}, **more),
        lambda repo, **more: repo.move("a", "c", **more),
        lambda repo, **more: repo.delete(prefix="a", **more),
    ],
    ids=["put_many", "move", "delete"],
)
def test_each_takes_branch_expect_author_and_message(repo, write):
    old = repo.put("a", 1)
    head = repo.put("b", 1)
    repo.create_branch("trial")
    with pytest.raises(RefConflictError, match="trial"):
        write(repo, branch="trial", expect=old)
    assert repo.resolve("trial") == head

    commit = write(repo, branch="trial", expect=head, author="me", message="why")

    assert repo.resolve("trial") == commit != head
    assert repo.resolve() == head
    assert (commit.author, commit.message) == ("me", "why")


def test_none_writes_where_the_repository_is_read_only(tmp_path):
    import mnemosyne_vcs

    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        repo.put("a", 1)
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        for write in (
            lambda: repo.put_many({"a": 2}),
            lambda: repo.move("a", "b"),
            lambda: repo.delete(prefix="a"),
        ):
            with pytest.raises(ReadOnlyError):
                write()
