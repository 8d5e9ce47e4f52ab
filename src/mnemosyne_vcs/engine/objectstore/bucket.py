"""Requests to one bucket, below one prefix, with errors in terms of what the caller can do."""

import os
import re
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import obstore
from obstore import exceptions as failures
from obstore.store import S3Store

from mnemosyne_vcs.engine.objectstore.url import ObjectStoreUrl
from mnemosyne_vcs.errors import (
    BusyError,
    CorruptObjectError,
    EngineError,
    MnemosyneError,
    NotFoundError,
    ReadOnlyError,
)

if TYPE_CHECKING:
    from obstore import PutMode
    from obstore.store import S3Config

__all__ = ["Bucket", "Listed", "NoBucketError"]

_IN_XML = re.compile(r"<Code>([^<]*)</Code>(?:.*?<Message>([^<]*)</Message>)?", re.DOTALL)
_KEYLESS = re.compile(r"Missing (Secret)?AccessKey|/latest/")
"""The messages for a missing key, also of the machine's own service in the cloud."""
FIRST_RETRIES = 4
_process = os.getpid()
"""The process whose threads serve the requests; a forked child does not have them."""


class NoBucketError(NotFoundError):
    """The bucket does not exist."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One object in a listing.

    Attributes:
        name: its name below the prefix.
        size: bytes.
        modified: when it was written, by the clock of the store.
    """

    name: str
    size: int
    modified: datetime


class Bucket:
    """The objects below the prefix that a URL names. Safe for use by many threads at once.

    Args:
        url: the bucket, the prefix, timeouts and pauses.

    Every method raises, beyond what it says:
        NoBucketError: the bucket does not exist.
        BusyError: the store asks for less traffic.
        EngineError: the store is out of reach or refused, or this process was forked.
    """

    def __init__(self, url: ObjectStoreUrl) -> None:
        self._url = url
        with self._asking(url.bucket):
            self._store = _new_store(url, retries=1000)
            self._store_that_asks_once = _new_store(url, retries=0)
            self._store_in_a_hurry = _new_store(url, retries=FIRST_RETRIES)

    def get(self, name: str) -> bytes:
        """The bytes of an object.

        Raises:
            NotFoundError: the object does not exist.
        """
        with self._asking(name):
            return bytes(obstore.get(self._store, name).bytes())

    def get_unless(self, name: str, tag: str | None) -> tuple[bytes, str] | None:
        """The bytes and the tag of an object; None if it still has this tag.

        Without a tag there are only `FIRST_RETRIES` retries: it is the first request to a store,
        and a wrong endpoint must be reported soon.

        Raises:
            NotFoundError: the object does not exist.
        """
        with self._asking(name):
            try:
                if tag:
                    found = obstore.get(self._store, name, options={"if_none_match": tag})
                else:
                    found = obstore.get(self._store_in_a_hurry, name)
                return bytes(found.bytes()), self._tag(found.meta["e_tag"])
            except failures.NotModifiedError:
                return None

    def get_range(self, name: str, start: int, size: int) -> bytes:
        """A part of an object.

        Raises:
            NotFoundError: the object does not exist.
            CorruptObjectError: it is shorter.
        """
        with self._asking(name):
            try:
                part = bytes(obstore.get_range(self._store, name, start=start, length=size))
            except failures.GenericError as error:
                if _said(error)[0] != "InvalidRange":
                    raise
                part = b""
        if len(part) != size:
            raise CorruptObjectError(
                f"{self._url.canonical}: {name} is cut short; restore an older version of it, or "
                "clone the repository from elsewhere"
            )
        return part

    def put(self, name: str, data: bytes) -> None:
        """Write an object, replacing the one with that name if there is one."""
        with self._asking(name):
            obstore.put(self._store, name, data)

    def put_if(self, name: str, data: bytes, tag: str | None) -> str | None:
        """Write an object if the present one has this tag; without a tag, if there is none.

        A failed request is not retried: the retry could be refused because the first try succeeded.

        Returns:
            The tag of what was written; None if nothing was.
        """
        with self._asking(name):
            try:
                mode: PutMode = {"e_tag": tag} if tag else "create"
                made = obstore.put(
                    self._store_that_asks_once, name, data, mode=mode, use_multipart=False
                )
                return self._tag(made["e_tag"])
            except (failures.AlreadyExistsError, failures.PreconditionError):
                return None

    def list(self, folder: str) -> Iterator[Listed]:
        """The objects in a folder, in no particular order."""
        with self._asking(folder):
            for batch in self._store.list(folder, chunk_size=1000):  # pyright: ignore[reportUnknownMemberType]
                for each in batch:
                    yield Listed(each["path"], each["size"], each["last_modified"])

    def modified(self, name: str) -> datetime:
        """When an object was written, by the clock of the store.

        Raises:
            NotFoundError: the object does not exist.
        """
        with self._asking(name):
            return obstore.head(self._store, name)["last_modified"]

    def delete(self, names: Collection[str]) -> None:
        """Remove objects; absent ones are ignored."""
        if names:
            with self._asking(next(iter(names))):
                obstore.delete(self._store, list(names))

    def _tag(self, tag: str | None) -> str:
        if tag is None:
            raise EngineError(
                f"{self._url.canonical}: the store gives no ETag, without which it cannot hold a "
                "repository; use another store"
            )
        return tag

    def require_own_process(self) -> None:
        """Raise if this process was forked, before it waits for a lock of a lost thread."""
        if os.getpid() != _process:
            raise EngineError(
                f"{self._url.canonical}: object storage does not work in a forked process; start "
                "it with the 'spawn' method, or as a program of its own"
            )

    @contextmanager
    def _asking(self, name: str) -> Generator[None]:
        self.require_own_process()
        try:
            yield
        except MnemosyneError:
            raise
        except (FileNotFoundError, failures.BaseError, ValueError) as error:
            raise self._translated(error, name) from error

    def _translated(self, error: Exception, name: str) -> MnemosyneError:
        code, said = _said(error)
        url = self._url.canonical
        if code == "NoSuchBucket":
            return NoBucketError(
                f"{url}: there is no bucket {self._url.bucket!r}; make it, or correct the URL"
            )
        if isinstance(error, FileNotFoundError):
            return NotFoundError(f"{url}: there is no object {name!r}")
        if code == "AccessDenied":
            return ReadOnlyError(f"{url}: {said} ({name}); ask for the right to do that")
        keyless = _KEYLESS.search(said)
        if keyless:
            said = "a key is missing from the environment, and this machine has none of its own"
        if keyless or isinstance(
            error, failures.PermissionDeniedError | failures.UnauthenticatedError
        ):
            return EngineError(
                f"{url} refused to let this user in: {said}; check AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and the region"
            )
        if code in ("SlowDown", "ServiceUnavailable", "TooManyRequests"):
            return BusyError(f"{url} is busy: {said}; try again")
        return EngineError(f"{url} cannot be reached: {said}; check the endpoint, or try again")


def _new_store(url: ObjectStoreUrl, retries: int) -> S3Store:
    config: S3Config = {}
    if url.endpoint:
        config["endpoint"] = url.endpoint
    if url.region:
        config["region"] = url.region
    return S3Store(
        url.bucket,
        prefix=url.prefix or None,
        config=config,
        client_options={
            "allow_http": (url.endpoint or "").startswith("http:"),
            "timeout": timedelta(seconds=url.timeout),
            "connect_timeout": timedelta(seconds=min(url.timeout, 10.0)),
        },
        retry_config={
            "max_retries": retries,
            "retry_timeout": timedelta(seconds=url.retry_for),
            "backoff": {
                "init_backoff": timedelta(seconds=url.backoff),
                "max_backoff": timedelta(seconds=max(url.backoff, url.retry_for / 4)),
                "base": 2,
            },
        },
    )


def _said(error: Exception) -> tuple[str, str]:
    """The code of an answer of S3, if it is one, and its message in one line."""
    text = str(error)
    in_xml = _IN_XML.search(text)
    if in_xml:
        return in_xml[1], f"{in_xml[1]}: {in_xml[2]}" if in_xml[2] else in_xml[1]
    return "", " ".join(text.partition("\n\nDebug source")[0].split())
