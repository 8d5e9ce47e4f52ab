# type: ignore - a test that finds None where it expects something fails, as it should
"""The contract of repositories: random operations, compared with a model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

import mnemosyne_vcs
from mnemosyne_vcs.ids import text_id
from mnemosyne_vcs.testing.repository._fixtures import RepositoryFixtures
from mnemosyne_vcs.tree import build

__all__ = ["StateContract"]

KEYS = st.sampled_from([f"{a}/{b}" for a in "xyz" for b in ("1", "2", "é", "1/deep")] + ["x", "w"])


CONTENTS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(-1, 1), st.text("ab"))


VECTORS = st.none() | st.lists(st.integers(-2, 2).map(float), min_size=3, max_size=3)


def typed(value: object) -> object:
    return (type(value), value)


@dataclass
class Branch:
    state: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    commits: list[tuple[str, dict[str, tuple[Any, Any]]]] = field(default_factory=list)


class Model(RuleBasedStateMachine):
    names = Bundle("names")

    def __init__(self, url: str = "memory://") -> None:
        super().__init__()
        self.repo = mnemosyne_vcs.open(url, create=True)
        root = self.repo.resolve().id
        self.branches = {"main": Branch({}, [(root, {})])}
        self.writers: dict[str, dict[str, str]] = {"main": {}}

    def landed(self, branch: str, state: dict[str, tuple[Any, Any]], commit: str) -> None:
        model = self.branches[branch]
        if commit != model.commits[-1][0]:
            model.commits.append((commit, state))
        model.state = state

    @rule(
        branch=st.sampled_from(["main", "one", "two"]),
        edits=st.dictionaries(KEYS, st.none() | st.tuples(CONTENTS, VECTORS), max_size=4),
    )
    def commit(self, branch: str, edits: dict[str, Any]) -> None:
        if branch not in self.branches:
            return
        state = dict(self.branches[branch].state)
        with self.repo.transaction(branch) as tx:
            for key, value in edits.items():
                if value is not None:
                    tx.put(key, value[0], embedding=value[1])
                    state[key] = value
                elif key in state:
                    tx.delete(key)
                    del state[key]
        changed = {
            k for k in edits if repr(state.get(k)) != repr(self.branches[branch].state.get(k))
        }
        assert (tx.committed.id != self.branches[branch].commits[-1][0]) == bool(changed)
        for key in changed & state.keys():
            self.writers[branch][key] = tx.committed.id
        self.landed(branch, state, tx.committed.id)

    @rule(source=st.sampled_from(["main", "one"]), name=st.sampled_from(["one", "two"]))
    def branch(self, source: str, name: str) -> None:
        if source in self.branches and name not in self.branches:
            self.repo.create_branch(name, revision=source)
            old = self.branches[source]
            self.branches[name] = Branch(dict(old.state), list(old.commits))
            self.writers[name] = dict(self.writers[source])

    @rule(branch=st.sampled_from(["main", "one", "two"]), n=st.integers(1, 3))
    def undo(self, branch: str, n: int) -> None:
        model = self.branches.get(branch)
        if model is None or n >= len(model.commits):
            return
        commit = self.repo.undo(n, branch=branch)
        state = dict(model.commits[-1 - n][1])
        self.landed(branch, state, commit.id)
        for key in state:
            self.writers[branch][key] = self.repo.blame(key, branch).commit.id

    @invariant()
    def every_branch_and_past_is_as_the_model_says(self) -> None:
        for name, model in self.branches.items():
            self.same(name, model.state)
            commit, state = model.commits[len(model.commits) // 2]
            self.same(commit, state)
            assert self.repo.resolve(name).id == model.commits[-1][0]

    def same(self, revision: str, state: dict[str, tuple[Any, Any]]) -> None:
        snapshot = self.repo.at(revision)
        assert list(snapshot) == sorted(state)
        for record in snapshot.scan():
            content, vector = state[record.key]
            assert typed(record.content) == typed(content)
            assert (record.embedding is None) == (vector is None)
            assert vector is None or record.embedding.tolist() == vector

    @invariant()
    def the_root_is_that_of_a_rebuild(self) -> None:
        from mnemosyne_vcs.tree import scan

        commit = self.repo.resolve()
        entries = dict(scan(self.repo.blocks.node, commit.tree_cid))
        assert text_id(build(entries).root) == commit.tree

    @invariant()
    def blame_names_the_last_writer(self) -> None:
        for name, model in self.branches.items():
            for key in list(model.state)[:3]:
                assert self.repo.blame(key, name).commit.id == self.writers[name][key]

    @invariant()
    def search_finds_exactly_what_has_a_vector(self) -> None:
        for name, model in self.branches.items():
            expected = {key for key, (_, vector) in model.state.items() if vector is not None}
            hits = self.repo.at(name).search([1, 0.5, -1], limit=100)
            assert {hit.record.key for hit in hits} == expected

    def teardown(self) -> None:
        assert self.repo.verify().ok
        self.repo.close()


SETTINGS = settings(max_examples=40, stateful_step_count=15, deadline=None)


class StateContract(RepositoryFixtures):
    """What a repository promises of random operations, compared with a model."""

    def test_a_store_that_lasts_is_as_the_model_says(self, new_url: Callable[[], str]):
        few = settings(SETTINGS, max_examples=8)
        run_state_machine_as_test(lambda: Model(new_url()), settings=few)
