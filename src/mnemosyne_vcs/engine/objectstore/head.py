"""The manifest as this process knows it, and its changes: one after the other, none lost.

A change is made to the newest manifest and put on condition that it is still the newest; else it
is made again. A change whose answer was lost is found by its token.

The write lock is a lease: an id in the manifest, which its holder renews. A writer that finds
another's lease waits; a lease unchanged for `deadline.TERM` seconds by the writer's own clock
counts as abandoned. That is for fairness only: the holder's change is conditional too, and fails
if its lease was broken. (DynamoDB's lock client detects dead holders in the same way.)
"""

import os
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock, Thread
from typing import TypeVar

from mnemosyne_vcs.engine.objectstore import deadline
from mnemosyne_vcs.engine.objectstore import manifest as manifests
from mnemosyne_vcs.engine.objectstore.bucket import Bucket, NoBucketError
from mnemosyne_vcs.engine.objectstore.deadline import Retry
from mnemosyne_vcs.engine.objectstore.logs import FOLDER, Segments
from mnemosyne_vcs.engine.objectstore.manifest import Manifest
from mnemosyne_vcs.errors import (
    BusyError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    RefConflictError,
)
from mnemosyne_vcs.interrupts import guarded, locked

__all__ = ["Head", "Lease", "new_token"]

REWRITES = 5
T = TypeVar("T")
Edit = Callable[[Manifest], Manifest]


def new_token() -> str:
    """A random id (16 hex digits)."""
    return os.urandom(8).hex()


@dataclass(slots=True)
class Lease:
    """The write lock, while it is held.

    Attributes:
        manifest: the manifest to put when the lock is released.
    """

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class _Known:
    manifest: Manifest
    tag: str


class Head:
    """The newest manifest of one repository. Safe for use by many threads at once.

    Args:
        bucket: the bucket.
        segments: the segments of its logs.
        url: the store, for messages.
        busy_timeout: seconds that a change waits for others.
        retry_for: seconds in which a change is tried again while the store fails.
    """

    def __init__(
        self,
        bucket: Bucket,
        segments: Segments,
        url: str,
        busy_timeout: float,
        retry_for: float,
    ) -> None:
        self._bucket = bucket
        self._segments = segments
        self._url = url
        self._busy_timeout = busy_timeout
        self._retry_for = retry_for
        self._known: _Known | None = None
        self._writer = Lock()

    def create(self) -> None:
        """Create the manifest of an empty repository, unless there is one.

        Raises:
            EngineError: the store ignores conditions, or failed.
        """
        first = manifests.encode(manifests.new_manifest(new_token()))
        tag = self._bucket.put_if(manifests.NAME, first, None)
        if tag is not None:
            self._require_conditions(tag)

    def known(self) -> Manifest:
        """The newest manifest that this process has seen; raises as `newest` does."""
        return self._known.manifest if self._known else self.newest()

    def newest(self) -> Manifest:
        """The newest manifest.

        Raises:
            NotFoundError: there is no manifest, or the bucket does not exist.
            CorruptObjectError: it is damaged.
            FormatVersionError: a newer version wrote it.
            EngineError: the store failed.
        """
        return self._fetch().manifest

    def read_with_retry(self, ask: Callable[[Manifest], T], manifest: Manifest) -> T:
        """The result of a function of a manifest; of a newer one if that was rewritten meanwhile.

        Raises:
            CorruptObjectError: something that the newest manifest names is not there.
            BusyError: it was rewritten again and again.
            MnemosyneError: whatever `ask` raises.
        """
        for _ in range(REWRITES):
            try:
                return ask(manifest)
            except NotFoundError as error:
                newest = self.newest()
                if newest.version == manifest.version:
                    raise manifests.missing_object_error(error) from None
                manifest = newest
        raise BusyError(f"{self._url} was rewritten again and again while it was read; try again")

    def change(self, edit: Edit) -> Manifest:
        """Change the manifest.

        Args:
            edit: gives the changed manifest; called again on a newer one until it lands.

        Returns:
            The manifest with the change.

        Raises:
            BusyError: others held the lock, or won every race, for longer than the busy timeout.
            EngineError: the store failed; whether the change was made is unknown.
            MnemosyneError: whatever `edit` raises on the newest manifest; nothing was changed.
        """
        with locked(self._writer, self._busy_timeout, self.busy):
            return self._until_it_lands(edit, new_token())

    @guarded
    def lease(self) -> Generator[Lease]:
        """The write lock. Its manifest is put at the end, unless there is an exception.

        Raises:
            BusyError: others held the lock for longer than the busy timeout; or others broke this
                one because this process stalled, and nothing was changed.
            EngineError: the store failed; whether the change was made is unknown.
        """
        with locked(self._writer, self._busy_timeout, self.busy):
            token, ending = new_token(), False
            try:
                before = self._until_it_lands(lambda m: replace(m, lease=token), token)
                held = Lease(before)
                with self._renewed(token):
                    yield held
                ending = True
                self._give_back(token, held.manifest)
            except BaseException as error:
                told = isinstance(error, MnemosyneError)
                if not (told and ending):
                    with suppress(MnemosyneError):  # the lock counts as abandoned later
                        self._give_up(token, look=not told)
                raise

    def _give_up(self, token: str, *, look: bool) -> None:
        """Release the lock.

        Args:
            token: the id of its holder.
            look: read the holder from the store, since an interrupt may have hidden it.
        """
        if look:
            self._fetch()
        if self._known is not None and _holder(self._known.manifest) == token:
            self._give_back(token, self._known.manifest)

    def _give_back(self, token: str, changed: Manifest) -> None:
        def edit(manifest: Manifest) -> Manifest:
            self._require_holder(token, manifest)
            return replace(changed, version=manifest.version, tokens=manifest.tokens, lease=None)

        self._until_it_lands(edit, new_token(), own=token)

    @guarded
    def _renewed(self, token: str) -> Generator[None]:
        """Renew the lease while its holder lives."""
        going_on = Lock()
        going_on.acquire()
        renewing = Thread(target=self._renew, args=(token, going_on), daemon=True)
        try:
            renewing.start()
            yield
        finally:
            going_on.release()
        renewing.join()

    def _renew(self, token: str, going_on: Lock) -> None:
        for number in count(1):
            if going_on.acquire(timeout=deadline.TERM / 4):
                return

            def edit(manifest: Manifest, lease: str = f"{token}.{number}") -> Manifest:
                self._require_holder(token, manifest)
                return replace(manifest, lease=lease)

            with suppress(MnemosyneError):  # a lost lock is detected at the end
                self._until_it_lands(edit, new_token(), own=token)

    def _require_holder(self, token: str, manifest: Manifest) -> None:
        if _holder(manifest) != token:
            raise BusyError(
                f"the holder of the write lock of {self._url} was not heard of for "
                f"{deadline.TERM:g} s, and others wrote meanwhile; try again"
            )

    def _until_it_lands(self, edit: Edit, token: str, own: str | None = None) -> Manifest:
        retry = Retry(self._busy_timeout)
        base, fetched = (self._known, False) if self._known else (self._fetch(), True)
        while True:
            free = self._free(base.manifest, own, retry)
            gone: NotFoundError | None = None
            try:
                changed = None if free is None else self._compacted(edit(free)).successor(token)
            except RefConflictError:
                if fetched:
                    raise
            except NotFoundError as error:
                gone = error
            else:
                if changed is not None and self._put(changed, base, retry):
                    self._discard(base.manifest, changed)
                    return changed
                retry.pause()
            before, base, fetched = base, self._refetch(retry), True
            if token in base.manifest.tokens:
                self._discard(before.manifest, base.manifest)
                return base.manifest
            if gone is not None and base.tag == before.tag:
                raise manifests.missing_object_error(gone)
            retry.resolve_outcome(base.manifest.version, self._url)
            retry.check_deadline(self._url)

    def _free(self, manifest: Manifest, own: str | None, retry: Retry) -> Manifest | None:
        """The manifest to change, if no other writer holds the lock."""
        if _holder(manifest) in (None, own):
            return manifest
        return replace(manifest, lease=None) if retry.abandoned(manifest) else None

    def _refetch(self, retry: Retry) -> _Known:
        """The newest manifest; raises at once if it cannot be read and an outcome is unknown."""
        try:
            return self._fetch()
        except BusyError as error:
            if retry.unsure is None:
                raise
            raise EngineError(error.message) from error

    def _put(self, changed: Manifest, base: _Known, retry: Retry) -> bool:
        """Replace the manifest that a changed one was made from; returns whether that landed.

        If the answer is lost, the caller finds out; a put that is under way still cannot land
        once another one has.
        """
        try:
            tag = self._bucket.put_if(manifests.NAME, manifests.encode(changed), base.tag)
        except EngineError as error:
            if retry.failed(base.manifest.version) > self._retry_for:
                raise EngineError(error.message) from error
            return False
        retry.answered()
        if tag is None:
            return False
        self._advance(_Known(changed, tag))
        return True

    def _discard(self, before: Manifest, after: Manifest) -> None:
        """Remove segments that were merged into others; compaction removes the rest."""
        with suppress(MnemosyneError):
            self._bucket.delete([f"{FOLDER}/{name}" for name in before.segments - after.segments])

    def _compacted(self, changed: Manifest) -> Manifest:
        compacted = self._segments.compacted
        return replace(
            changed,
            packs=compacted(changed.packs),
            reflog=compacted(changed.reflog),
            history=compacted(changed.history),
        )

    def _fetch(self) -> _Known:
        known = self._known
        try:
            found = self._bucket.get_unless(manifests.NAME, known.tag if known else None)
        except NoBucketError:
            raise
        except NotFoundError:
            raise NotFoundError(
                f"there is no repository at {self._url}; make it with create=True or `mnem init`"
            ) from None
        if found is None:
            assert known is not None
            return known
        data, tag = found
        return self._advance(_Known(manifests.decode(data, self._url), tag))

    def _advance(self, found: _Known) -> _Known:
        """Keep a manifest, unless a newer one is known; returns the newer one."""
        known = self._known
        newer = (
            known is not None
            and known.manifest.store == found.manifest.store
            and known.manifest.version > found.manifest.version
        )
        if newer:
            assert known is not None
            return known
        self._known = found
        return found

    def _require_conditions(self, tag: str) -> None:
        again = manifests.encode(manifests.new_manifest(new_token()))
        wrong = '"' + "0" * 32 + '"'
        if (
            self._bucket.put_if(manifests.NAME, again, None) is not None
            or self._bucket.put_if(manifests.NAME, again, wrong) is not None
        ):
            self._bucket.delete([manifests.NAME])
            raise EngineError(
                f"{self._url}: the store ignores If-None-Match and If-Match on a put, "
                "without which concurrent writers would lose data; use another store"
            )

    def busy(self) -> BusyError:
        """The error for a thread that has waited too long for another one of this process."""
        return BusyError(
            f"another thread has held {self._url} for {self._busy_timeout:g} s; try again"
        )


def _holder(manifest: Manifest) -> str | None:
    """The part of a lease that its renewals do not change."""
    return manifest.lease and manifest.lease.partition(".")[0]
