# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: merging."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    ConflictError,
    EngineError,
    NotFoundError,
    Provenance,
    Repository,
    Transaction,
    ValidationError,
)
from mnemosyne_vcs.testing import Fault, FaultyEngine
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures, needs

__all__ = ["MergeContract"]

Edit = Callable[[Transaction], object]


def nothing(_: Transaction) -> None:
    pass


def put(key: str, content: Any, **more: Any) -> Edit:
    return lambda tx: tx.put(key, content, **more)


def delete(key: str) -> Edit:
    return lambda tx: tx.delete(key)


def move(old: str, new: str) -> Edit:
    return lambda tx: tx.move(old, new)


def both(*edits: Edit) -> Edit:
    def run(tx: Transaction) -> None:
        for edit in edits:
            edit(tx)

    return run


def state(repo: Repository, revision: str = "main") -> dict[str, Any]:
    return {record.key: record.content for record in repo.at(revision).scan()}


def conflicts_of(repo: Repository, **arguments: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    head = repo.resolve()
    with pytest.raises(ConflictError) as caught:
        repo.merge("trial", **arguments)
    assert repo.resolve() == head, "nothing is written"
    plan = repo.plan_merge("trial", **arguments)
    assert [c.key for c in plan.conflicts] == [c.key for c in caught.value.conflicts]
    return [(c.key, c.kind, c.fields) for c in caught.value.conflicts]


class MergeContract(RepositoryFixtures):
    """What a repository promises of merging."""

    @pytest.fixture
    def fork(self, repo: Repository) -> Callable[..., Repository]:
        """A repository whose branches `main` and `trial` have each changed a common state."""

        def make(base: Edit = nothing, ours: Edit = nothing, theirs: Edit = nothing) -> Repository:
            repo.transact(base, message="base")
            repo.create_branch("trial")
            repo.transact(ours, author="ann", message="ours")
            repo.transact(theirs, "trial", author="bob", message="theirs")
            return repo

        return make

    def test_changes_of_different_keys_are_taken_as_they_are(self, fork: Any):
        repo = fork(
            both(put("a", 1), put("b", 1), put("c", 1)),
            both(put("a", 2), put("mine", 0)),
            both(put("b", 3), delete("c"), put("theirs", 0)),
        )
        heads = repo.resolve().id, repo.resolve("trial").id
        commit = repo.merge("trial", author="lead", message="together", trailers={"Run-Id": "r"})
        assert state(repo) == {"a": 2, "b": 3, "mine": 0, "theirs": 0}
        assert commit.parents == heads
        assert (commit.author, commit.message) == ("lead", "together")
        assert commit.trailers == {"Run-Id": "r"}
        assert {k: repo.blame(k).commit.message for k in ("a", "b", "mine", "theirs")} == {
            "a": "ours",
            "b": "theirs",
            "mine": "ours",
            "theirs": "theirs",
        }
        assert [b.commit.message for b in repo.history("b")] == ["theirs", "base"]
        assert repo.blame("c").commit.message == "theirs"
        assert repo.verify().ok

    def test_merging_again_changes_nothing(self, fork: Any):
        repo = fork(put("a", 1), put("b", 2), put("c", 3))
        commit = repo.merge("trial")
        assert repo.merge("trial") == commit
        assert repo.merge("trial", fast_forward=True) == commit
        assert repo.merge("main~1") == commit
        plan = repo.plan_merge("trial")
        assert (plan.kind, plan.changes, plan.conflicts) == ("up-to-date", (), ())
        back = repo.merge("main", into="trial")
        assert back.tree == commit.tree
        assert back.parents == (commit.parents[1], commit.id)

    @needs("reflog")
    def test_a_merge_commit_is_written_unless_fast_forward_is_asked_for(self, repo: Repository):
        repo.create_branch("trial")
        repo.put("a", 1, branch="trial")
        head = repo.resolve("trial")
        repo.create_branch("other")
        commit = repo.merge("trial")
        assert (commit.parents[1], commit.tree) == (head.id, head.tree)
        assert repo.plan_merge("trial", into="other").can_fast_forward
        assert repo.merge("trial", into="other", fast_forward=True, author="lead") == head
        assert repo.resolve("other") == head
        assert repo.merge("trial", into="other", fast_forward=True) == head
        move = next(repo.reflog("other"))
        assert (move.new, move.author, move.message) == (head.id, "lead", "merge trial into other")
        assert len(list(repo.reflog("other"))) == 2

    def test_fast_forward_of_what_has_diverged_is_a_merge(self, fork: Any):
        repo = fork(nothing, put("a", 1), put("b", 1))
        assert len(repo.merge("trial", fast_forward=True).parents) == 2

    def test_a_merge_that_changes_no_record_is_written(self, fork: Any):
        repo = fork(put("a", 1), put("a", 2), both(put("b", 1), delete("b"), put("a", 2)))
        commit = repo.merge("trial")
        assert len(commit.parents) == 2
        assert repo.merge("trial") == commit
        assert state(repo) == {"a": 2}

    @pytest.mark.parametrize(
        ("base", "ours", "theirs", "merged"),
        [
            ({"x": 1, "y": 1}, {"x": 2, "y": 1}, {"x": 1, "y": 2}, {"x": 2, "y": 2}),
            ({"x": 1, "y": 1}, {"y": 1}, {"x": 1, "y": 2}, {"y": 2}),
            ({"x": 1, "y": 1}, {"y": 1}, {"x": 1}, {}),
            ({"x": 1}, {"x": 1, "a": 1}, {"x": 1, "b": 2}, {"x": 1, "a": 1, "b": 2}),
            ({}, {"a": {"p": 1}}, {"a": {"q": 2}}, {"a": {"p": 1, "q": 2}}),
            (
                {"d": {"e": {"f": 1, "g": 1}}},
                {"d": {"e": {"f": 2, "g": 1}}},
                {"d": {"e": {"f": 1, "g": [1]}}},
                {"d": {"e": {"f": 2, "g": [1]}}},
            ),
            ({"x": 1, "y": 0}, {"x": 1.0, "y": 0}, {"x": 1, "y": 5}, {"x": 1.0, "y": 5}),
            ({"x": 1, "y": 0}, {"x": True, "y": 0}, {"x": 1, "y": 5}, {"x": True, "y": 5}),
            ({"x": [1], "y": 0}, {"x": [1, 2], "y": 0}, {"x": [1], "y": 1}, {"x": [1, 2], "y": 1}),
            ({"x": None}, {"x": 1}, {"x": None, "z": None}, {"x": 1, "z": None}),
        ],
    )
    def test_fields_merge(self, fork: Any, base: Any, ours: Any, theirs: Any, merged: Any):
        repo = fork(put("k", base), put("k", ours), put("k", theirs))
        commit = repo.merge("trial")
        assert repr(sorted(state(repo)["k"].items())) == repr(sorted(merged.items()))
        assert repo.blame("k").commit == commit
        derived = repo.at()["k"].provenance.derived_from
        assert sorted(derived) == sorted(("k", parent) for parent in commit.parents)

    @pytest.mark.parametrize(
        ("base", "ours", "theirs", "fields"),
        [
            ({"x": 1}, {"x": 2}, {"x": 3}, ("x",)),
            ({"x": 1}, {"x": 1.0}, {"x": True}, ("x",)),
            ({"x": [1]}, {"x": [1, 2]}, {"x": [0, 1]}, ("x",)),
            ({"x": {"y": 1, "z": 1}}, {"x": {"y": 2, "z": 2}}, {"x": {"y": 3}}, ("x.y", "x.z")),
            ({"x": {"y": 1}}, {}, {"x": {"y": 2}}, ("x",)),
            ({"x": 1}, {"x": {}}, {"x": 2}, ("x",)),
            (1, 2, 3, ("(content)",)),
            ([1], [1, 2], [2, 1], ("(content)",)),
            ({"x": 1}, [], {"x": 2}, ("(content)",)),
        ],
    )
    def test_fields_clash(self, fork: Any, base: Any, ours: Any, theirs: Any, fields: Any):
        repo = fork(put("k", base), put("k", ours), put("k", theirs))
        assert conflicts_of(repo) == [("k", "edit/edit", fields)]

    def test_what_lies_beside_the_content_merges_as_fields(self, fork: Any):
        start = {"embedding": [1, 2], "vectors": {"image": [1]}, "embedder": "m", "event_time": 1}
        repo = fork(
            put("k", {"a": 1}, **start),
            put("k", {"a": 2}, **start | {"embedding": [3, 4], "event_time": 2}),
            put("k", {"a": 1}, **start | {"vectors": {"image": [9], "new": [5]}, "embedder": "n"}),
        )
        repo.merge("trial")
        record = repo.at()["k"]
        assert (record.content, record.embedder, record.event_time) == ({"a": 2}, "n", 2)
        found = {name: vector.tolist() for name, vector in record.vectors.items()}
        assert found == {"": [3.0, 4.0], "image": [9.0], "new": [5.0]}
        assert repo.verify().ok

    def test_what_lies_beside_the_content_clashes_as_fields(self, fork: Any):
        def one(n: int) -> Edit:
            return put(
                "k", 0, embedding=[n], vectors={"image": [n]}, embedder=f"m{n}", event_time=n
            )

        repo = fork(one(1), one(2), one(3))
        fields = ("(embedding)", "(vector image)", "(embedder)", "(event_time)")
        assert conflicts_of(repo) == [("k", "edit/edit", fields)]

    def test_the_same_value_on_both_sides_is_no_conflict(self, fork: Any):
        repo = fork(nothing, put("k", 1, embedding=[1, 2]), put("k", 1, embedding=[1, 2]))
        repo.create_branch("swapped", revision="trial")
        commit = repo.merge("trial")
        swapped = repo.merge("main~1", into="swapped")
        assert commit.tree == swapped.tree
        assert repo.blame("k").commit.message in ("ours", "theirs")

    def test_provenance_alone_is_no_conflict(self, fork: Any):
        ours, theirs = Provenance(source="o", agent="x"), Provenance(source="t", agent="x")
        repo = fork(
            both(put("new", 1), put("edit", {"a": 1}), put("gone", 1), put("one", 1)),
            both(
                put("new", 1, provenance=ours),
                put("edit", {"a": 2}, provenance=ours),
                delete("gone"),
            ),
            both(
                put("new", 1, provenance=theirs),
                put("edit", {"a": 1, "b": 1}, provenance=theirs),
                put("gone", 1, provenance=theirs),
                put("one", 1, provenance=theirs),
            ),
        )
        commit = repo.merge("trial")
        now = repo.at()
        assert now["new"].provenance in (ours, theirs)
        assert now["one"].provenance == theirs
        assert "gone" not in now
        sources = tuple(sorted(("edit", parent) for parent in commit.parents))
        assert now["edit"].provenance == Provenance(agent="x", derived_from=sources)

    def test_of_one_value_that_with_new_provenance_is_taken(self, repo: Repository):
        keys, known = [f"k/{number}" for number in range(12)], Provenance(source="t")
        repo.transact(both(*(put(key, 1) for key in keys)))
        repo.create_branch("trial")
        repo.transact(both(*(put(key, 2) for key in keys)))
        repo.transact(both(*(put(key, 1) for key in keys)))
        repo.transact(both(*(put(key, 1, provenance=known) for key in keys)), "trial")
        repo.create_branch("swapped", revision="trial")
        repo.merge("trial")
        repo.merge("main~1", into="swapped")
        for branch in ("main", "swapped"):
            assert {record.provenance for record in repo.at(branch).scan()} == {known}

    def test_edit_against_deletion(self, fork: Any):
        repo = fork(
            both(put("a", 1), put("b", 1), put("both", 1)),
            both(put("a", 2), delete("b"), delete("both")),
            both(delete("a"), put("b", 2), delete("both")),
        )
        assert conflicts_of(repo) == [("a", "edit/delete", ()), ("b", "delete/edit", ())]
        repo.merge("trial", resolutions={"a": "theirs", "b": "theirs"})
        assert state(repo) == {"b": 2}

    def test_both_add(self, fork: Any):
        repo = fork(
            nothing,
            both(put("k", {"x": 1, "o": 1}), put("s", 1)),
            both(put("k", {"x": 2, "t": 1}), put("s", 2)),
        )
        assert conflicts_of(repo) == [("k", "add/add", ("x",)), ("s", "add/add", ("(content)",))]

    @pytest.mark.parametrize("into", ["main", "trial"])
    def test_an_edit_lands_where_the_record_was_moved_to(self, fork: Any, into: str):
        repo = fork(
            put("old", {"a": 1, "b": 1}, embedding=[1, 2]),
            move("old", "new"),
            put("old", {"a": 2, "b": 1}, embedding=[1, 2]),
        )
        source = "trial" if into == "main" else "main"
        commit = repo.merge(source, into=into)
        assert state(repo, into) == {"new": {"a": 2, "b": 1}}
        assert repo.at(into)["new"].embedding.tolist() == [1, 2]
        assert repo.blame("new", into).commit == commit
        line = [b.commit.message for b in repo.history("new", into)]
        assert (line[0], set(line[1:-1]), line[-1]) == (commit.message, {"ours", "theirs"}, "base")
        assert repo.verify().ok

    @pytest.mark.parametrize("into", ["main", "trial"])
    def test_a_record_that_was_moved_and_edited_since_merges_with_edits(self, fork: Any, into: str):
        repo = fork(put("old", {"a": 1, "b": 1}), move("old", "mid"), put("old", {"a": 2, "b": 1}))
        repo.transact(move("mid", "new"))
        repo.put("new", {"a": 1, "b": 2})
        commit = repo.merge("trial" if into == "main" else "main", into=into)
        assert state(repo, into) == {"new": {"a": 2, "b": 2}}
        derived = {
            (key, repo.at(revision)[key].content["b"])
            for key, revision in repo.at(into)["new"].provenance.derived_from
        }
        assert derived == {("new", 2), ("old", 1)}
        assert repo.blame("new", into).commit == commit

    def test_a_moved_record_clashes_with_an_edit_under_the_new_key(self, fork: Any):
        repo = fork(
            put("old", {"a": 1}),
            both(move("old", "new"), put("new", {"a": 2})),
            put("old", {"a": 3}),
        )
        assert conflicts_of(repo) == [("new", "edit/edit", ("a",))]
        plan = repo.plan_merge("trial", on_conflict="theirs")
        (change,) = plan.changes
        assert (change.key, change.kind, change.after.content) == ("new", "changed", {"a": 3})
        repo.merge("trial", on_conflict="theirs")
        assert state(repo) == {"new": {"a": 3}}

    def test_both_move_to_the_same_key(self, fork: Any):
        repo = fork(
            put("old", {"a": 1, "b": 1}),
            both(move("old", "new"), put("new", {"a": 2, "b": 1})),
            both(move("old", "new"), put("new", {"a": 1, "b": 2})),
        )
        repo.merge("trial")
        assert state(repo) == {"new": {"a": 2, "b": 2}}

    @pytest.mark.parametrize(
        ("resolution", "result"),
        [
            ("ours", {"here": 1}),
            ("theirs", {"there": 1}),
            ("base", {"old": 1}),
            ("delete", {}),
            (mnemosyne_vcs.Replacement(5), {"old": 5}),
        ],
    )
    def test_both_move_to_different_keys(self, fork: Any, resolution: Any, result: Any):
        repo = fork(put("old", 1), move("old", "here"), move("old", "there"))
        assert conflicts_of(repo) == [("old", "move/move", ())]
        (conflict,) = repo.plan_merge("trial").conflicts
        assert [r.key for r in (conflict.base, conflict.ours, conflict.theirs)] == [
            "old",
            "here",
            "there",
        ]
        repo.merge("trial", resolutions={"old": resolution})
        assert state(repo) == result
        assert repo.verify().ok

    @pytest.mark.parametrize(
        ("resolution", "result"),
        [("ours", {"new": 1}), ("theirs", {}), ("base", {"new": 1}), ("delete", {})],
    )
    def test_a_move_against_a_deletion(self, fork: Any, resolution: Any, result: Any):
        repo = fork(put("old", 1), move("old", "new"), delete("old"))
        assert conflicts_of(repo) == [("new", "edit/delete", ())]
        repo.merge("trial", on_conflict=resolution)
        assert state(repo) == result

    def test_a_deletion_against_a_move(self, fork: Any):
        repo = fork(put("old", 1), delete("old"), move("old", "new"))
        assert conflicts_of(repo) == [("new", "delete/edit", ())]
        repo.merge("trial", on_conflict="theirs")
        assert state(repo) == {"new": 1}

    def test_a_move_onto_a_key_that_the_other_side_has_added(self, fork: Any):
        repo = fork(put("old", 1), move("old", "new"), both(put("old", 2), put("new", 3)))
        assert conflicts_of(repo) == [
            ("new", "add/add", ("(content)",)),
            ("old", "delete/edit", ()),
        ]

    def test_a_move_onto_the_key_of_another_record_never_mixes_the_two(self, fork: Any):
        repo = fork(
            both(put("a", {"is": "a"}), put("b", {"is": "b"})),
            put("a", {"is": "a", "more": 1}),
            both(delete("a"), move("b", "a")),
        )
        assert conflicts_of(repo) == [("a", "edit/edit", ())]
        repo.merge("trial", on_conflict="theirs")
        assert state(repo) == {"a": {"is": "b"}}

    def test_a_move_alone_is_taken_and_history_follows_it(self, fork: Any):
        repo = fork(put("old", 1), put("else", 1), move("old", "new"))
        repo.merge("trial")
        assert state(repo) == {"else": 1, "new": 1}
        assert [b.commit.message for b in repo.history("new")] == ["theirs", "base"]
        (change,) = repo.diff("main~1", "main")
        assert (change.kind, change.before.key, change.key) == ("moved", "old", "new")

    @pytest.fixture
    def clashing(self, fork: Any) -> Repository:
        return fork(
            both(*(put(k, {"v": 0}) for k in "abcde")),
            both(*(put(k, {"v": 1}) for k in "abcde"), put("mine", 1)),
            both(*(put(k, {"v": 2}) for k in "abcde"), put("yours", 1)),
        )

    def test_each_conflict_can_be_settled_in_its_own_way(self, clashing: Repository):
        ways = {
            "a": "ours",
            "b": "theirs",
            "c": "base",
            "d": "delete",
            "e": mnemosyne_vcs.Replacement(
                {"v": 9}, embedding=[1, 2], provenance=Provenance(source="judge")
            ),
        }
        commit = clashing.merge("trial", resolutions=ways, author="judge")
        assert state(clashing) == {
            "a": {"v": 1},
            "b": {"v": 2},
            "c": {"v": 0},
            "e": {"v": 9},
            "mine": 1,
            "yours": 1,
        }
        assert commit.trailers["Resolved"] == (
            '{"a":"ours","b":"theirs","c":"base","d":"delete","e":"value"}'
        )
        assert clashing.at()["e"].embedding.tolist() == [1, 2]
        blamed = {key: clashing.blame(key).commit.message for key in "abcde"}
        assert blamed == {
            "a": "ours",
            "b": "theirs",
            "c": "base",
            "d": commit.message,
            "e": commit.message,
        }
        assert clashing.verify().ok

    def test_a_strategy_settles_the_rest(self, clashing: Repository):
        clashing.merge("trial", resolutions={"a": "ours"}, on_conflict="theirs")
        assert [state(clashing)[k]["v"] for k in "abcde"] == [1, 2, 2, 2, 2]

    def test_a_function_settles_what_it_wants_to(self, clashing: Repository):
        def judge(conflict: mnemosyne_vcs.Conflict) -> Any:
            assert conflict.base.content == {"v": 0}
            if conflict.key == "c":
                return None
            return mnemosyne_vcs.Replacement(
                {"v": conflict.ours.content["v"] + conflict.theirs.content["v"]}
            )

        assert conflicts_of(clashing, on_conflict=judge) == [("c", "edit/edit", ("v",))]
        clashing.merge("trial", resolutions={"c": "delete"}, on_conflict=judge)
        assert [state(clashing)[k]["v"] for k in "abde"] == [3, 3, 3, 3]

    def test_a_plan_writes_nothing_and_says_what_would_change(self, clashing: Repository):
        before = list(clashing.log())
        plan = clashing.plan_merge("trial", resolutions={"a": "theirs", "b": "delete"})
        changes = {c.key: (c.kind, c.after and c.after.content) for c in plan.changes}
        assert changes == {
            "a": ("changed", {"v": 2}),
            "b": ("removed", None),
            "yours": ("added", 1),
        }
        assert [c.key for c in plan.conflicts] == ["c", "d", "e"]
        assert plan.resolved == {"a": "theirs", "b": "delete"}
        assert (plan.head, plan.commits) == (clashing.resolve(), (clashing.resolve("trial"),))
        assert plan.bases == (clashing.merge_base("trial").id,)
        assert list(clashing.log()) == before

    @pytest.mark.parametrize(
        ("arguments", "names"),
        [
            ({"resolutions": {"mine": "ours"}, "on_conflict": "ours"}, "'mine'"),
            ({"resolutions": {"a": "mine"}}, "'mine'"),
            ({"resolutions": {"a": True}}, "True"),
            ({"on_conflict": "newest"}, "'newest'"),
            ({"on_conflict": lambda _: "newest"}, "'newest'"),
            ({"on_conflict": lambda _: mnemosyne_vcs.Replacement(float("nan"))}, "content of 'a'"),
        ],
    )
    def test_resolutions_that_are_none(self, clashing: Repository, arguments: Any, names: str):
        head = clashing.resolve()
        with pytest.raises(ValidationError, match=names):
            clashing.merge("trial", **arguments)
        assert clashing.resolve() == head

    def test_what_cannot_be_merged(self, repo: Repository):
        with pytest.raises(NotFoundError, match="nowhere"):
            repo.merge("nowhere")
        with pytest.raises(NotFoundError, match="nowhere"):
            repo.merge("main", into="nowhere")

    def test_when_the_branch_moves_meanwhile_the_merge_starts_again(self, clashing: Repository):
        def interfere(_: mnemosyne_vcs.Conflict) -> str:
            if "late" not in clashing.at():
                clashing.put("late", 1)
                clashing.put("yours", 1)
            return "theirs"

        commit = clashing.merge("trial", on_conflict=interfere)
        assert state(clashing)["late"] == 1
        assert clashing.resolve(commit.parents[0]).message == "put yours"
        assert len([c for c in clashing.log() if len(c.parents) > 1]) == 1

    def test_merges_by_many_threads_all_land(self, repo: Repository):
        names = [f"agent{n}" for n in range(8)]
        for name in names:
            repo.create_branch(name)
            repo.put(name, 1, branch=name)
            repo.put("shared", {name: 1}, branch=name)
        with ThreadPoolExecutor(len(names)) as pool:
            commits = list(pool.map(repo.merge, names))
        assert state(repo) == {**dict.fromkeys(names, 1), "shared": dict.fromkeys(names, 1)}
        assert len({commit.id for commit in commits}) == len(names)
        assert len([c for c in repo.log() if len(c.parents) == 2]) == len(names)
        assert repo.verify().ok

    @pytest.mark.parametrize("fault", ["before", "after"])
    def test_a_merge_that_fails_is_made_once_or_not_at_all(self, fork: Any, fault: Fault):
        repo = fork(nothing, put("ours", 1), put("theirs", 1))
        head = repo.resolve()
        faulty = Repository(FaultyEngine(repo.blocks.engine, [fault]), author="tester")
        try:
            merged = faulty.merge("trial")
        except EngineError:
            assert repo.resolve() == head
            merged = faulty.merge("trial")
        assert repo.resolve() == merged
        assert merged.parents[0] == head.id
        assert state(repo) == {"ours": 1, "theirs": 1}

    def test_criss_cross_uses_all_bases(self, fork: Any):
        repo = fork(
            put("k", {"a": 0, "b": 0}), put("k", {"a": 1, "b": 0}), put("k", {"a": 0, "b": 1})
        )
        ours, theirs = repo.resolve().id, repo.resolve("trial").id
        repo.merge(theirs)
        repo.merge(ours, into="trial")
        assert state(repo) == state(repo, "trial") == {"k": {"a": 1, "b": 1}}
        repo.put("k", {"a": 1, "b": 0})
        plan = repo.plan_merge("trial")
        assert set(plan.bases) == {ours, theirs}
        assert repo.merge_base("trial").id in plan.bases
        repo.merge("trial")
        assert state(repo) == {"k": {"a": 1, "b": 0}}

    def test_a_conflict_between_the_bases_equals_nothing(self, fork: Any):
        repo = fork(put("k", 0), put("k", 1), put("k", 2))
        ours, theirs = repo.resolve().id, repo.resolve("trial").id
        repo.merge(theirs, on_conflict="ours")
        repo.merge(ours, into="trial", on_conflict="ours")
        assert (state(repo), state(repo, "trial")) == ({"k": 1}, {"k": 2})
        assert conflicts_of(repo) == [("k", "edit/edit", ("(content)",))]
        with pytest.raises(ValidationError, match="base"):
            repo.merge("trial", on_conflict="base")
        repo.merge("trial", on_conflict="theirs")
        assert state(repo) == {"k": 2}

    def test_histories_that_crossed_many_times(
        self, repo: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        repo.put("k", {"a": -1, "b": -1})
        repo.create_branch("trial")
        for n in range(6):
            repo.put("k", {"a": n, "b": n - 1})
            repo.put("k", {"a": n - 1, "b": n}, branch="trial")
            ours, theirs = repo.resolve().id, repo.resolve("trial").id
            repo.merge(theirs)
            repo.merge(ours, into="trial")
            assert state(repo) == state(repo, "trial") == {"k": {"a": n, "b": n}}
        repo.put("k", {"a": 9, "b": 5})
        repo.put("k", {"a": 5, "b": 9}, branch="trial")
        assert not repo.plan_merge("trial").conflicts
        monkeypatch.setattr("mnemosyne_vcs.merge.branches.DEEPEST", 3)
        assert conflicts_of(repo) == [("k", "edit/edit", ("a", "b"))]

    def test_over_an_unknown_base_a_field_of_one_side_only_is_a_conflict(self, fork: Any):
        repo = fork(put("k", {"v": 0}), put("k", {"v": 1}), put("k", {"v": 2, "w": 2}))
        ours, theirs = repo.resolve().id, repo.resolve("trial").id
        repo.merge(theirs, on_conflict="ours")
        repo.merge(ours, into="trial", on_conflict="ours")
        assert conflicts_of(repo) == [("k", "edit/edit", ("v", "w"))]

    @needs("history", "list_history")
    def test_the_index_rebuilt_says_the_same_of_merges(self, fork: Any):
        repo = fork(
            both(put("f", {"a": 1, "b": 1}), put("c", 1)),
            both(put("f", {"a": 2, "b": 1}), put("o", 1), put("c", 2)),
            both(put("f", {"a": 1, "b": 2}), put("t", 1), put("c", 3)),
        )
        repo.merge("trial", on_conflict="base")
        keys = ("f", "o", "t", "c")
        expected = {key: [b.commit.id for b in repo.history(key)] for key in keys}
        repo.blocks.engine.clear_index()
        assert {key: [b.commit.id for b in repo.history(key)] for key in keys} == expected
