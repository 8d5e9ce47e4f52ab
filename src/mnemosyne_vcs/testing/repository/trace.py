# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: what was derived from a record, and taking it back."""

from collections.abc import Callable

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import NotFoundError, Provenance, Repository, ValidationError
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures

__all__ = ["TraceContract"]

Values = Callable[[mnemosyne_vcs.Snapshot], dict[str, object]]


def found(repo: Repository, **criteria: object) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(t.branch, t.record.key): t.through for t in repo.trace(**criteria)}  # type: ignore[arg-type]


def put(repo: Repository, key: str, content: object, *derived: tuple[str, str], **known: object):
    """Write a record derived from the versions at (key, branch)."""
    branch = known.pop("branch", "main")
    sources = tuple((source, repo.resolve(at).id) for source, at in derived)
    provenance = Provenance(derived_from=sources, **known)  # type: ignore[arg-type]
    return repo.put(key, content, branch=branch, provenance=provenance)  # type: ignore[arg-type]


class TraceContract(RepositoryFixtures):
    """What a repository promises of what was derived from a record, and taking it back."""

    def test_a_bad_document_that_three_agents_build_on_is_taken_back_whole(
        self, repo: Repository, values: Values
    ):
        put(repo, "plans/free", {"seats": 3}, source="handbook", agent="reader")
        put(repo, "plans/pro", {"seats": 10}, source="handbook", agent="reader")
        put(repo, "contacts/ann", "ann@example.com", source="mail", agent="reader")
        good = values(repo.at())

        put(repo, "plans/pro", {"seats": 9999}, source="leaked.pdf", agent="reader", run="r7")
        put(repo, "plans/gold", {"seats": 1}, source="leaked.pdf", agent="reader", run="r7")
        put(repo, "offers/acme", "sell gold", ("plans/gold", "main"), agent="seller")
        repo.create_branch("trial")
        put(
            repo, "forecast/q4", "up", ("offers/acme", "trial"), ("contacts/ann", "trial"),
            agent="analyst", branch="trial",
        )  # fmt: skip
        put(repo, "contacts/ann", "ask about q4", ("forecast/q4", "trial"), agent="clerk")

        put(repo, "plans/free", {"seats": 5}, source="handbook v2", agent="editor")
        put(repo, "contacts/bob", "bob@example.com", source="mail", agent="editor")

        expected = {
            ("main", "contacts/ann"): ("forecast/q4", "offers/acme", "plans/gold"),
            ("main", "offers/acme"): ("plans/gold",),
            ("main", "plans/gold"): (),
            ("main", "plans/pro"): (),
            ("trial", "forecast/q4"): ("offers/acme", "plans/gold"),
            ("trial", "offers/acme"): ("plans/gold",),
            ("trial", "plans/gold"): (),
            ("trial", "plans/pro"): (),
        }
        assert found(repo, source="leaked.pdf") == expected
        assert list(found(repo, source="leaked.pdf")) == sorted(expected)
        heads = repo.branches()
        plan = repo.plan_retract(source="leaked.pdf")
        assert repo.branches() == heads
        done = repo.retract(source="leaked.pdf", author="lead")
        assert done.changes == {branch: each.changes for branch, each in plan.items()}
        kinds = {c.key: (c.kind, c.after and c.after.content) for c in done.changes["main"]}
        assert kinds == {
            "contacts/ann": ("changed", "ann@example.com"),
            "offers/acme": ("removed", None),
            "plans/gold": ("removed", None),
            "plans/pro": ("changed", {"seats": 10}),
        }

        later = {"plans/free": {"seats": 5}, "contacts/bob": "bob@example.com"}
        assert values(repo.at("main")) == {**good, **later}
        assert values(repo.at("trial")) == good
        assert {b: c.id for b, c in done.commits.items()} == repo.branches()
        assert all(done.commits[b].parents == (head,) for b, head in heads.items())
        assert done.commits["main"].author == "lead"
        assert done.commits["main"].trailers["Retracts"] == "source leaked.pdf"
        assert repo.blame("plans/pro").record.provenance.source == "handbook"
        assert found(repo, source="leaked.pdf") == {}
        assert repo.retract(source="leaked.pdf").commits == {}
        repo.undo()
        assert len(found(repo, source="leaked.pdf")) == 4
        assert repo.verify().ok

    def test_criteria_hold_together_of_one_version(self, repo: Repository):
        put(repo, "a", 1, source="s", agent="x", run="r", tool_call="t")
        put(repo, "b", 1, source="s", agent="y")
        put(repo, "c", 1, ("b", "main"), agent="x")
        commit = repo.resolve("main~1").id
        assert set(found(repo, source="s")) == {("main", "a"), ("main", "b"), ("main", "c")}
        assert set(found(repo, source="s", agent="x")) == {("main", "a")}
        assert set(found(repo, agent="x")) == {("main", "a"), ("main", "c")}
        assert set(found(repo, run="r")) == set(found(repo, tool_call="t")) == {("main", "a")}
        assert found(repo, commit="main~1") == {("main", "b"): (), ("main", "c"): ("b",)}
        assert found(repo, commit=commit, agent="y") == found(repo, commit=commit)
        assert found(repo, commit=commit, agent="x") == {}
        assert found(repo, source="none") == {}

    def test_what_counts_is_the_version_that_a_record_was_derived_from(self, repo: Repository):
        put(repo, "a", 1, source="bad")
        put(repo, "early", 1, ("a", "main"))
        put(repo, "a", 2, source="good")
        put(repo, "late", 1, ("a", "main"))
        repo.delete("a")
        assert found(repo, source="bad") == {("main", "early"): ("a",)}
        assert found(repo, source="good") == {("main", "late"): ("a",)}

    def test_derivations_that_lead_nowhere_are_passed_over(self, repo: Repository):
        put(repo, "a", 1, source="bad")
        head = repo.resolve().id
        for number, sources in enumerate(
            [(("a", "no id at all"),), (("none", head),), (("a", "bafyrei" + "a" * 52),)]
        ):
            repo.put(f"b/{number}", 1, provenance=Provenance(derived_from=sources))
        both = Provenance(derived_from=(("none", head), ("a", head)))
        repo.put("c", 1, provenance=both)
        assert found(repo, source="bad") == {("main", "a"): (), ("main", "c"): ("a",)}

    def test_the_shortest_chain_is_told(self, repo: Repository):
        put(repo, "a", 1, source="bad")
        put(repo, "b", 1, ("a", "main"))
        put(repo, "c", 1, ("b", "main"))
        put(repo, "d", 1, ("c", "main"), ("a", "main"))
        assert found(repo, source="bad")["main", "c"] == ("b", "a")
        assert found(repo, source="bad")["main", "d"] == ("a",)

    def test_a_long_chain(self, repo: Repository):
        put(repo, "k/0000", 0, source="bad")
        with repo.transaction() as tx:
            tx.put("other", 1)
        for i in range(1, 300):
            put(repo, f"k/{i:04}", i, (f"k/{i - 1:04}", "main"))
        repo.delete("k/0000")
        assert len(found(repo, source="bad")[("main", "k/0299")]) == 299
        assert len(repo.retract(source="bad").changes["main"]) == 299
        assert set(repo.at()) == {"other"}

    def test_only_the_branches_named_are_looked_at_and_changed(self, repo: Repository):
        put(repo, "a", 1, source="bad")
        repo.create_branch("trial")
        assert set(found(repo, source="bad", branches=["trial"])) == {("trial", "a")}
        assert repo.retract(source="bad", branches=["trial"]).commits.keys() == {"trial"}
        assert ("a" in repo.at("trial"), "a" in repo.at("main")) == (False, True)
        with pytest.raises(NotFoundError, match="'none'"):
            repo.trace(source="bad", branches=["none"])

    def test_nothing_to_look_for_is_an_error(self, repo: Repository):
        for act in (repo.trace, repo.retract):
            with pytest.raises(ValidationError, match="name what to trace"):
                act()
            with pytest.raises(NotFoundError):
                act(commit="none")

    def test_moves_are_followed(self, repo: Repository, values: Values):
        put(repo, "a", "good", source="handbook")
        bad = put(repo, "a", "bad", source="leak")
        with repo.transaction() as tx:
            tx.move("a", "b")
        assert found(repo, source="leak") == {("main", "b"): ()}
        assert found(repo, commit=bad.id) == {("main", "b"): ("a",)}
        done = repo.retract(commit=bad.id)
        assert [(c.key, c.kind) for c in done.changes["main"]] == [("b", "changed")]
        assert values(repo.at()) == {"b": "good"}
        assert repo.at()["b"].provenance.source == "handbook"

    def test_a_move_is_taken_back_where_the_old_key_is_free(self, repo: Repository, values: Values):
        repo.put("a", 1)
        repo.put("c", 1)
        with repo.transaction() as tx:
            tx.move("a", "b")
            tx.move("c", "d")
        move = repo.resolve().id
        repo.put("c", 2)
        done = repo.retract(commit=move)
        assert [(c.key, c.kind) for c in done.changes["main"]] == [("a", "moved"), ("d", "removed")]
        assert values(repo.at()) == {"a": 1, "c": 2}

    def test_an_earlier_deletion_is_kept(self, repo: Repository):
        put(repo, "a", 1, source="good")
        repo.delete("a")
        put(repo, "a", 2, source="bad")
        put(repo, "a", 3, source="bad")
        assert [c.kind for c in repo.retract(source="bad").changes["main"]] == ["removed"]
        assert "a" not in repo.at()

    def test_a_record_that_arrives_meanwhile_is_taken_back_too(self, repo: Repository):
        put(repo, "a", 1, source="bad")
        engine, write = repo.blocks.engine, repo.blocks.engine.write

        def after_another(objects, update=None):
            engine.write = write
            put(repo, "b", 1, ("a", "main"))
            write(objects, update)

        engine.write = after_another
        assert [c.key for c in repo.retract(source="bad").changes["main"]] == ["a", "b"]
        assert len(repo.at()) == 0

    def test_what_was_deleted_before_does_not_come_back(self, repo: Repository, values: Values):
        put(repo, "k", "clean", source="handbook")
        repo.delete("k")
        put(repo, "k", "bad", source="leaked.pdf")
        put(repo, "k", "worse", source="leaked.pdf")
        repo.retract(source="leaked.pdf")
        assert values(repo.at()) == {}
