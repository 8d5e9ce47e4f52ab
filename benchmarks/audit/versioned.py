"""The same memory in Mnemosyne."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mnemosyne_vcs
from benchmarks.audit.memories import Memory, Origin
from benchmarks.audit.runs import LEFT, MAIN, RIGHT, Contents, Edit, Step
from mnemosyne_vcs import ConflictError, Provenance

if TYPE_CHECKING:
    from pathlib import Path

    from mnemosyne_vcs import Commit, Snapshot
    from mnemosyne_vcs.model import Record


class VersionedMemory(Memory):
    """A repository in one file; a step is a commit.

    Attributes:
        repo: the repository.
        commits: the commit of each step, by its number.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self.repo = mnemosyne_vcs.open(
            path, create=True, durability="full" if durable else "relaxed"
        )
        self.commits: dict[int, Commit] = {}
        self._numbers: dict[str, int] = {}
        self._branches = {MAIN}

    def take(self, step: Step) -> None:
        if step.branch not in self._branches:
            self.repo.create_branch(step.branch)
            self._branches.add(step.branch)
        if step.merges:
            commit = self.repo.merge(
                step.merges, into=step.branch, author=step.agent, on_conflict="ours"
            )
        else:
            commit = self._commit(step)
        self.commits[step.number] = commit
        self._numbers[commit.id] = step.number

    def _commit(self, step: Step) -> Commit:
        with self.repo.transaction(
            step.branch, author=step.agent, trailers={"Step": str(step.number)}
        ) as transaction:
            for key, value in step.puts.items():
                built_on = step.derived_from.get(key)
                derived = ((built_on, transaction.base.id),) if built_on else ()
                provenance = Provenance(
                    source=step.source, agent=step.agent, step=step.number, derived_from=derived
                )
                transaction.put(key, {"value": value}, provenance=provenance)
            for key in step.deletes:
                transaction.delete(key)
        assert transaction.committed is not None
        return transaction.committed

    def now(self) -> Contents:
        return _contents(self.repo.at(MAIN))

    def at(self, step: int) -> Contents:
        return _contents(self.repo.at(self.commits[step].id))

    def went_wrong(self, key: str, wrong: str) -> int:
        def is_wrong(snapshot: Snapshot) -> bool:
            return key in snapshot and _value(snapshot[key]) == wrong

        return self._numbers[self.repo.bisect(is_wrong).id]

    def origin(self, key: str, at: int | None = None) -> Origin:
        blame = self.repo.blame(key, MAIN if at is None else self.commits[at].id)
        assert blame.record is not None
        return blame.record.provenance.source or "", self._numbers[blame.commit.id]

    def changed_by(self, step: int) -> set[Edit]:
        commit = self.commits[step]
        return {
            (
                change.key,
                None if change.before is None else _value(change.before),
                None if change.after is None else _value(change.after),
            )
            for change in self.repo.diff(commit.parents[0], commit.id)
        }

    def merge(self, left: tuple[Step, ...], right: tuple[Step, ...]) -> tuple[Contents, set[str]]:
        for step in (*left, *right):
            self.take(step)
        conflicts: set[str] = set()
        try:
            self.repo.merge(RIGHT, into=LEFT)
        except ConflictError as error:
            conflicts = {conflict.key for conflict in error.conflicts}
            self.repo.merge(RIGHT, into=LEFT, on_conflict="ours")
        return _contents(self.repo.at(LEFT)), conflicts

    def size(self) -> int:
        self.repo.close()
        return self.path.stat().st_size

    def close(self) -> None:
        self.repo.close()


def _contents(snapshot: Snapshot) -> Contents:
    return {record.key: _value(record) for record in snapshot.scan()}


def _value(record: Record) -> str:
    assert isinstance(record.content, dict)
    return str(record.content["value"])
