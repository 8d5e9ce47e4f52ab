"""The part of `Repository` that reads history."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.format.validation import check_limit, check_moment, check_text, check_trailer
from mnemosyne_vcs.graph import Verdict, bisect, is_ancestor, merge_bases
from mnemosyne_vcs.history import log
from mnemosyne_vcs.history.activity import Activity, activities
from mnemosyne_vcs.history.blame import blame, blame_all, blame_field
from mnemosyne_vcs.model import Blame, Change, Commit, Revision, named
from mnemosyne_vcs.refs import BRANCH, DEFAULT_BRANCH, ROOT_COMMIT, TAG, ref_heads
from mnemosyne_vcs.repository.base import RepositoryBase
from mnemosyne_vcs.revision import find_commit
from mnemosyne_vcs.snapshot import Snapshot

__all__ = ["_History"]


class _History(RepositoryBase):
    """Reading history."""

    def log(
        self,
        revision: Revision = DEFAULT_BRANCH,
        *,
        key: str | None = None,
        prefix: str | None = None,
        author: str | None = None,
        agent: str | None = None,
        run: str | None = None,
        source: str | None = None,
        trailer: tuple[str, str] | None = None,
        since: datetime | int | None = None,
        until: datetime | int | None = None,
        first_parent: bool = False,
        all: bool = False,
        limit: int | None = None,
    ) -> Iterator[Commit]:
        """Commits up to a revision, newest first.

        Commits must match all filters. Agent, run and source are those of the records that a
        commit wrote.

        Args:
            revision: where to start.
            key: only commits that changed this key, or the one that it was moved from.
            prefix: only commits that changed a key that starts with this.
            author: only commits by this author.
            agent: only commits that wrote a record by this agent.
            run: only commits that wrote a record of this run.
            source: only commits that wrote a record from this source.
            trailer: only commits that have a trailer of this name and value. With `run`, either is
                enough: a commit that only deletes has no record that names its run.
            since: only commits at or after this time: a datetime (naive means UTC) or UTC
                milliseconds.
            until: only commits at or before this time, and those dated in the future, whose real
                time is not known.
            first_parent: follow only the first parent of merges.
            all: the commits of all branches and tags, each once, in place of those up to one
                revision.
            limit: how many at most.

        Raises:
            NotFoundError: the revision names nothing, or no commit had the key.
            InvalidRevisionError: the text is not a valid revision.
            ValidationError: both key and prefix are given, `all` is given with a revision or with
                `first_parent`, or an argument is of the wrong type.
        """
        limit = check_limit(limit)
        if all and (first_parent or revision != DEFAULT_BRANCH):
            raise ValidationError("a log of all branches takes neither a revision nor first_parent")
        heads = self._heads(revision, all)
        wanted = log.LogFilter(
            None if key is None else check_text(key, "key"),
            None if prefix is None else check_text(prefix, "prefix"),
            author,
            agent,
            run,
            source,
            None if trailer is None else check_trailer(trailer),
            None if since is None else check_moment(since, "since"),
            None if until is None else check_moment(until, "until"),
            self._writer.clock(),
        )
        return islice(log.log(self.blocks, heads, wanted, first_parent=first_parent), limit)

    def runs(
        self, revision: Revision = DEFAULT_BRANCH, *, all: bool = False, limit: int | None = None
    ) -> list[Activity]:
        """The runs of what the commits up to a revision wrote, the latest first.

        A commit also belongs to the run that its trailer `Run-Id` names.

        Args:
            revision: where to start.
            all: the commits of all branches and tags in place of those up to one revision.
            limit: how many at most.

        Raises:
            NotFoundError: the revision names nothing.
            InvalidRevisionError: the text is not a valid revision.
            ValidationError: `all` is given with a revision, or an argument is of the wrong type.
        """
        return self._activities("run", revision, all, limit)

    def sources(
        self, revision: Revision = DEFAULT_BRANCH, *, all: bool = False, limit: int | None = None
    ) -> list[Activity]:
        """The sources of what the commits up to a revision wrote, the latest first.

        Args:
            revision: where to start.
            all: the commits of all branches and tags in place of those up to one revision.
            limit: how many at most.

        Raises:
            NotFoundError: the revision names nothing.
            InvalidRevisionError: the text is not a valid revision.
            ValidationError: `all` is given with a revision, or an argument is of the wrong type.
        """
        return self._activities("source", revision, all, limit)

    def agents(
        self, revision: Revision = DEFAULT_BRANCH, *, all: bool = False, limit: int | None = None
    ) -> list[Activity]:
        """The agents of what the commits up to a revision wrote, the latest first.

        Args:
            revision: where to start.
            all: the commits of all branches and tags in place of those up to one revision.
            limit: how many at most.

        Raises:
            NotFoundError: the revision names nothing.
            InvalidRevisionError: the text is not a valid revision.
            ValidationError: `all` is given with a revision, or an argument is of the wrong type.
        """
        return self._activities("agent", revision, all, limit)

    def history(self, key: str, revision: Revision = DEFAULT_BRANCH) -> Iterator[Blame]:
        """Every value of a key up to a revision, newest first, through moves and merges.

        Raises:
            NotFoundError: the revision names nothing, or no commit had the key.
            InvalidRevisionError: it is not a valid revision.
            ValidationError: the key is not a string, or cannot be encoded.
        """
        return log.history(self.blocks, check_text(key, "key"), self.resolve(revision))

    def blame(
        self, key: str, revision: Revision = DEFAULT_BRANCH, *, field: str | None = None
    ) -> Blame:
        """The commit that set the value of a key, or of one field of it, or deleted it.

        Args:
            key: the key.
            revision: where to look from.
            field: a path in the content such as `plan.tier`; see `history.fields.value_at`.

        Raises:
            NotFoundError: the revision names nothing, no commit had the key, or no version
                of it had the field.
            InvalidRevisionError: it is not a valid revision.
            ValidationError: key or field is not a string, or cannot be encoded.
        """
        key, commit = check_text(key, "key"), self.resolve(revision)
        if field is not None:
            return blame_field(self.blocks, key, check_text(field, "field"), commit)
        return blame(self.blocks, key, commit)

    def blame_all(self, prefix: str = "", revision: Revision = DEFAULT_BRANCH) -> Iterator[Blame]:
        """The commit that wrote each record whose key starts with a prefix, in order of key.

        Raises:
            NotFoundError: the revision names nothing.
            InvalidRevisionError: it is not a valid revision.
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        return blame_all(self.blocks, check_text(prefix, "prefix"), self.resolve(revision))

    def diff(self, a: Revision, b: Revision = DEFAULT_BRANCH, prefix: str = "") -> Iterator[Change]:
        """The keys whose values differ between two revisions, in order of key.

        `mnemosyne_vcs.field_changes` lists the fields that a change touched.

        Args:
            a: the first revision.
            b: the second revision.
            prefix: only keys that start with this.

        Raises:
            NotFoundError: a revision names nothing.
            InvalidRevisionError: one is not a valid revision.
            ValidationError: the prefix is not a string, or cannot be encoded.
        """
        prefix = check_text(prefix, "prefix")
        before, after = (self.resolve(each).tree_cid for each in (a, b))
        return log.diff(self.blocks, before, after, prefix)

    def bisect(
        self,
        predicate: Callable[[Snapshot], Verdict],
        *,
        good: Revision | None = None,
        bad: Revision = DEFAULT_BRANCH,
        descend: bool = True,
    ) -> Commit:
        """The commit that introduced a fault, found with about log2(n) tests.

        `predicate` returns whether a snapshot has the fault: true at `bad`, false at `good`.
        `lambda memory: memory["plan"].content == "Starter"` finds the commit that made the plan
        Starter. Between the two it should change from false to true once; if it changes more often,
        one of the commits where it did is found.

        The search follows first parents. If the commit that it finds is a merge, and the fault
        is there in what was merged, the search continues among those commits.

        Args:
            predicate: of a `Snapshot`: true, false, or `"skip"` if it cannot decide.
            good: a revision without the fault, in the past of `bad`; the empty memory if not given.
            bad: a revision with the fault.
            descend: whether to search merged branches.

        Raises:
            InconclusiveError: only skipped commits are left to choose from.
            NotFoundError: a revision names nothing, or the fault is not there at `bad`.
            InvalidRevisionError: a text is not a valid revision.
            ValidationError: the fault is there at `good` already, `good` is not in the past of
                `bad`, or the predicate returned another value than true, false or `"skip"`.
        """
        start = ROOT_COMMIT if good is None else self.resolve(good)
        end = self.resolve(bad)

        def probe(commit: Commit) -> Verdict:
            verdict: object = predicate(self.at(commit.id))
            if verdict == "skip" and isinstance(verdict, str):
                return "skip"
            if verdict is not True and verdict is not False:
                raise ValidationError(
                    f"the predicate answered {verdict!r} at {commit.id}; true, false and 'skip' "
                    "are the answers"
                )
            return verdict

        if probe(end) is not True:
            raise NotFoundError(
                f"the predicate does not hold at {named(bad)}, where the fault should be"
            )
        if probe(start) is not False:
            where = (
                "in the empty memory; give `good`" if good is None else f"at {named(good)} already"
            )
            raise ValidationError(f"the predicate holds {where}")
        lookup = self.blocks.walk()
        if good is not None and not is_ancestor(lookup, start.cid, end.cid):
            raise ValidationError(f"{named(good)} is not in the past of {named(bad)}")
        return bisect(lookup, probe, start.cid, end.cid, descend=descend)

    def merge_base(self, a: Revision, b: Revision = DEFAULT_BRANCH) -> Commit:
        """The newest commit in the past of both revisions.

        If histories cross, there are several, none in the past of another; this returns the one
        with the highest generation, then id. A merge uses all of them.

        Raises:
            NotFoundError: a revision names nothing.
            InvalidRevisionError: a text is not a valid revision.
        """
        ours, theirs = self.resolve(a), self.resolve(b)
        return merge_bases(self.blocks.walk(), [ours.cid], theirs.cid)[-1]

    def commit(self, commit_id: str) -> Commit:
        """The commit with an id, or a prefix of one; unlike `resolve`, takes no branch or tag.

        Args:
            commit_id: the id, or at least four characters that only one commit's id starts with;
                the `bafyrei` that all ids share may be left out.

        Raises:
            NotFoundError: the commit does not exist.
            InvalidRevisionError: the text is not a prefix of an id, or several commits have it.
        """
        return find_commit(self.blocks, commit_id)

    def _activities(
        self, field: str, revision: Revision, everywhere: bool, limit: int | None
    ) -> list[Activity]:
        limit = check_limit(limit)
        if everywhere and revision != DEFAULT_BRANCH:
            raise ValidationError("`all` means every branch and tag, and goes without a revision")
        return activities(self.blocks, self._heads(revision, everywhere), field, limit)

    def _heads(self, revision: Revision, everywhere: bool) -> list[Commit]:
        """The commit that a revision names, or those that branches and tags point at."""
        if not everywhere:
            return [self.resolve(revision)]
        heads = {*ref_heads(self.blocks, BRANCH).values(), *ref_heads(self.blocks, TAG).values()}
        return [self.blocks.commit(head) for head in heads]
