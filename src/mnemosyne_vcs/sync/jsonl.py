"""Records as JSON lines: one state of the memory, for people and other programs to read.

A line is an object with `key` and `content` and, where they are not empty, `vectors` (lists of
numbers by name), `embedder`, `provenance` and `event_time`. History is not included.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, BinaryIO, cast

from mnemosyne_vcs.batches import BATCH
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.files import existing_file, name_of, new_file
from mnemosyne_vcs.format.validation import parse_json
from mnemosyne_vcs.model import Provenance, Record
from mnemosyne_vcs.transaction.transaction import Transaction

__all__ = ["export_jsonl", "put_lines", "read_jsonl"]

Progress = Callable[[int], object]
_PROVENANCE_FIELDS = {each.name for each in fields(Provenance)}
_FIELDS = {"key", "content", "vectors", "embedder", "provenance", "event_time"}


def export_jsonl(
    path: str | BinaryIO, records: Iterable[Record], progress: Progress | None = None
) -> int:
    """Write records to a new file, one a line.

    Args:
        path: where to write: a path or a stream.
        records: the records.
        progress: called from time to time with how many records have been written.

    Returns:
        How many records were written.

    Raises:
        AlreadyExistsError: the path exists already.
        EngineError: it cannot be written.
    """
    count = 0
    with new_file(path) as file:
        for count, record in enumerate(records, 1):
            line = json.dumps(_as_json(record), ensure_ascii=False, allow_nan=False)
            file.write(line.encode() + b"\n")
            if progress and count % BATCH == 0:
                progress(count)
    return count


def read_jsonl(path: str | BinaryIO) -> dict[int, dict[str, Any]]:
    """The records in a file, by the number of their line.

    Args:
        path: the file, a path or a stream, in UTF-8; empty lines are left out.

    Raises:
        NotFoundError: the file does not exist.
        ValidationError: a line is not a record, or has the key of an earlier one.
        EngineError: the file cannot be read.
    """
    lines: dict[int, dict[str, Any]] = {}
    keys: set[str] = set()
    name = name_of(path)
    with existing_file(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                lines[number] = record = _parsed(line, f"{name}, line {number}")
                if record["key"] in keys:
                    raise ValidationError(
                        f"{name}, line {number}: the key {record['key']!r} occurs a second time"
                    )
                keys.add(record["key"])
    return lines


def put_lines(transaction: Transaction, lines: dict[int, dict[str, Any]], path: str) -> None:
    """Put records into a transaction.

    Args:
        transaction: the transaction.
        lines: the records by line, as `read_jsonl` gives them.
        path: the file, for messages.

    Raises:
        ValidationError: a value is outside what the format can hold; the line is named.
    """
    for number, record in lines.items():
        try:
            transaction.put(
                record["key"],
                record["content"],
                vectors=record.get("vectors"),
                embedder=record.get("embedder"),
                provenance=_provenance(record.get("provenance", {})),
                event_time=record.get("event_time"),
            )
        except ValidationError as error:
            raise ValidationError(f"{path}, line {number}: {error}") from error


def _as_json(record: Record) -> dict[str, Any]:
    line: dict[str, Any] = {"key": record.key, "content": record.content}
    if record.vectors:
        line["vectors"] = {name: each.tolist() for name, each in record.vectors.items()}
    if record.embedder is not None:
        line["embedder"] = record.embedder
    if known := record.provenance.as_json():
        line["provenance"] = known
    if record.event_time is not None:
        line["event_time"] = record.event_time
    return line


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = cast("object", parse_json(line))
    except ValueError as error:
        raise ValidationError(f"{where} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValidationError(f"{where} is not an object")
    named = cast("dict[str, Any]", record)
    if not isinstance(named.get("key"), str) or "content" not in named:
        raise ValidationError(f"{where} lacks key or content")
    if unknown := named.keys() - _FIELDS:
        raise ValidationError(f"{where} has unknown fields: {', '.join(sorted(unknown))}")
    vectors = named.get("vectors", {})
    if not isinstance(vectors, dict) or not all(
        isinstance(each, list) for each in cast("dict[str, object]", vectors).values()
    ):
        raise ValidationError(f"{where}: vectors are lists of numbers by name")
    return named


def _provenance(known: object) -> Provenance:
    if not isinstance(known, dict) or not known.keys() <= _PROVENANCE_FIELDS:
        raise ValidationError(f"{known!r:.80} is not a provenance")
    values: dict[str, Any] = dict(cast("dict[str, Any]", known))
    sources = values.get("derived_from", [])
    if not isinstance(sources, list):
        raise ValidationError(f"derived_from is not a list: {sources!r:.80}")
    values["derived_from"] = tuple(map(_source, cast("list[object]", sources)))
    return Provenance(**values)


def _source(named: object) -> tuple[str, str]:
    match named:
        case {"key": str(key), "commit": str(commit)} if len(cast("Any", named)) == 2:
            return key, commit
        case _:
            raise ValidationError(f"derived_from holds {named!r:.80}, not a key and a commit")
