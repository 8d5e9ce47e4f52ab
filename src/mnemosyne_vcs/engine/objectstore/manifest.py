"""The manifest: the one object with the state of a repository in an object store.

It names the refs, the settings, and the logs of packs, of moves of refs and of the history index.
Every change of the repository is one conditional put of it. (Apache Iceberg
keeps the state of a table in a metadata file in the same way.)
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import libipld

from mnemosyne_vcs.engine.objectstore.logs import Log, Row, Segment
from mnemosyne_vcs.engine.protocol import IndexEntry, RefUpdate
from mnemosyne_vcs.engine.shared import ref_conflict
from mnemosyne_vcs.errors import CorruptObjectError, FormatVersionError, NotFoundError
from mnemosyne_vcs.ids import Id

__all__ = [
    "NAME",
    "TOKENS",
    "Manifest",
    "decode",
    "encode",
    "index_row",
    "missing_object_error",
    "new_manifest",
]

NAME = "manifest"
FORMAT = 1
MAGIC = b"mnemosyne manifest\n"
DIGEST_BYTES = 32
TOKENS = 128


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a repository.

    Attributes:
        store: a random id that the store was given when it was made.
        version: how many changes came before.
        tokens: random ids of the last changes, by which a writer finds out whether its own landed.
        lease: the random id of the holder of the write lock.
        refs: where each ref points.
        settings: the settings by name.
        packs: the packs, each as `packs.Pack.row`.
        reflog: the moves of refs: name, old, new, who, when, why.
        history: the history index: commit, transaction, keys.
    """

    store: str
    version: int
    packs: Log
    reflog: Log
    history: Log
    tokens: tuple[str, ...] = ()
    lease: str | None = None
    refs: Mapping[str, Id] = field(default_factory=dict[str, Id])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def segments(self) -> set[str]:
        """The names of the segments of all logs."""
        logs = self.packs, self.reflog, self.history
        return {segment.name for log in logs for segment in log.sealed}

    def successor(self, token: str) -> "Manifest":
        """The manifest after one more change, with the token of that change."""
        tokens = (*self.tokens, token)[-TOKENS:]
        return replace(self, version=self.version + 1, tokens=tokens)

    def written(self, packs: Sequence[Row], update: RefUpdate | None, url: str) -> "Manifest":
        """The manifest with more packs, and a ref moved.

        Raises:
            RefConflictError: the ref is not where the update expects it.
        """
        found = None if update is None else self.refs.get(update.name)
        if update is not None and found != update.old:
            raise ref_conflict(url, update, found)
        stored = replace(self, packs=self.packs.with_rows(packs))
        return stored if update is None else stored._moved(update)

    def _moved(self, update: RefUpdate) -> "Manifest":
        refs, reflog, history = dict(self.refs), self.reflog, self.history
        if update.new != update.old:
            if update.new is None:
                del refs[update.name]
            else:
                refs[update.name] = update.new
            reflog = reflog.with_rows([_reflog_row(update)])
        if update.index is not None:
            history = history.with_rows([index_row(update.index)])
        return replace(self, refs=refs, reflog=reflog, history=history)


def new_manifest(store: str) -> Manifest:
    """The manifest of an empty repository.

    Args:
        store: a random id.
    """
    return Manifest(store, 0, Log(store), Log(store), Log(store))


def index_row(entry: IndexEntry) -> Row:
    """An entry of the history index as a row of its log."""
    return [entry.commit, entry.transaction, sorted(set(entry.keys))]


def missing_object_error(error: NotFoundError) -> CorruptObjectError:
    """The error for an object that the newest manifest names and that is not there."""
    return CorruptObjectError(
        f"{error.message}, which the manifest names; restore it, or clone the repository from "
        "elsewhere"
    )


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest: a line that says what it is, a SHA-256, and DAG-CBOR."""
    body = libipld.encode_dag_cbor(
        {
            "format": FORMAT,
            "store": manifest.store,
            "version": manifest.version,
            "tokens": list(manifest.tokens),
            "lease": manifest.lease,
            "refs": dict(manifest.refs),
            "settings": dict(manifest.settings),
            "packs": _log_fields(manifest.packs),
            "reflog": _log_fields(manifest.reflog),
            "history": _log_fields(manifest.history),
        }
    )
    return MAGIC + hashlib.sha256(body).digest() + body


def decode(data: bytes, url: str) -> Manifest:
    """The manifest that bytes hold.

    Args:
        data: the bytes.
        url: the store, for messages.

    Raises:
        CorruptObjectError: they are damaged, or not a manifest.
        FormatVersionError: a newer version of Mnemosyne wrote them.
    """
    body = data[len(MAGIC) + DIGEST_BYTES :]
    if (
        data[: len(MAGIC)] != MAGIC
        or hashlib.sha256(body).digest() != data[len(MAGIC) : -len(body)]
    ):
        raise CorruptObjectError(
            f"{url}: the object {NAME!r} is damaged, or something else; restore an older version "
            "of it, or clone the repository from elsewhere"
        )
    fields = cast("dict[str, Any]", libipld.decode_dag_cbor(body))
    if fields["format"] != FORMAT:
        raise FormatVersionError(
            f"{url} has format {fields['format']}, this version knows {FORMAT}; upgrade Mnemosyne"
        )
    return Manifest(
        fields["store"],
        fields["version"],
        _log(fields["packs"]),
        _log(fields["reflog"]),
        _log(fields["history"]),
        tuple(fields["tokens"]),
        fields["lease"],
        fields["refs"],
        fields["settings"],
    )


def _reflog_row(update: RefUpdate) -> Row:
    return [update.name, update.old, update.new, update.who, update.when, update.why]


def _log_fields(log: Log) -> dict[str, Any]:
    sealed = [[segment.name, segment.rows, segment.size] for segment in log.sealed]
    return {"epoch": log.epoch, "sealed": sealed, "recent": list(log.recent)}


def _log(fields: dict[str, Any]) -> Log:
    sealed = tuple(Segment(*segment) for segment in fields["sealed"])
    return Log(fields["epoch"], sealed, tuple(fields["recent"]))
