"""`mnem put`."""

import sys
from collections.abc import Callable
from typing import Any, cast

import click

from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.commit_options import author_option, commit_once, message_option, show_commit
from mnemosyne_vcs.cli.output import is_terminal
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.streams import read_text
from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.format.validation import parse_json
from mnemosyne_vcs.model import JSON, Provenance
from mnemosyne_vcs.present.lookup import locate
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.transaction.transaction import Transaction

_ORIGINS = {
    "source": "The document, message, person or system that was observed.",
    "agent": "The agent that learned it.",
    "task": "What the agent worked on.",
    "step": "The step of the run.",
    "tool-call": "Id of the tool call that gave the observation.",
    "observation": "The observation, or its id.",
    "run": "Id of the run.",
    "trace-id": "Trace id of the tracing system.",
    "span-id": "Span id of the tracing system.",
    "note": "Anything else.",
}


def _origin_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, help_text in reversed(_ORIGINS.items()):
        function = click.option(f"--{name}", metavar="TEXT", help=help_text)(function)
    return function


@click.command("put", cls=Verb)
@click.argument("key", shell_complete=completion.keys)
@click.argument("value", required=False)
@click.option("--text", is_flag=True, help="VALUE is plain text, not JSON.")
@click.option("--embedding", metavar="JSON", help="The embedding: a list of numbers.")
@click.option("--keep-vectors", is_flag=True, help="Keep the record's vectors.")
@click.option("--embedder", metavar="MODEL", help="The model that made the embedding.")
@_origin_options
@click.option(
    "--derived-from",
    "derived_from",
    multiple=True,
    metavar="WHAT",
    help="A record that it was derived from: KEY or REVISION:KEY. May be repeated.",
    shell_complete=completion.keys,
)
@click.option(
    "--event-time",
    type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ")),
    metavar="TIME",
    help="The time of the event, such as 2026-11-01T09:00:00Z.",
)
@message_option
@author_option
@pass_session
def command(
    session: Session,
    key: str,
    value: str | None,
    text: bool,
    embedding: str | None,
    keep_vectors: bool,
    message: str,
    author: str | None,
    derived_from: tuple[str, ...],
    **rest: Any,
) -> None:
    """Write a record under KEY, replacing the one that is there.

    VALUE is JSON, such as '{"plan": "Team"}' or '"a text"'; it is read from standard input if it
    is - or left out. The history of the record is kept.
    """
    if embedding is not None and keep_vectors:
        raise click.UsageError("give only one of --embedding and --keep-vectors")
    said = _read(value)
    content: JSON = said if text else _parsed(said, "the value", hint="; --text takes it as text")
    numbers = None if embedding is None else _numbers(embedding)
    repository = session.open(author=session.author(author))
    embedder, event_time = rest.pop("embedder"), rest.pop("event_time")
    provenance = Provenance(derived_from=_sources(repository, session, derived_from), **rest)

    def write(transaction: Transaction) -> None:
        present = transaction.get(key) if keep_vectors else None
        if keep_vectors and present is None:
            raise NotFoundError(f"there is no record {key!r} to keep the vectors of")
        transaction.put(
            key,
            content,
            embedding=numbers,
            vectors=None if present is None else dict(present.vectors),
            embedder=embedder or (present.embedder if present else None),
            provenance=provenance,
            event_time=event_time,
        )

    had_vectors = _has_vectors(repository, session.branch, key)
    commit = commit_once(repository, write, session.branch, message or f"put {key}")
    show_commit(session.output, commit)
    if commit and had_vectors and numbers is None and not keep_vectors:
        session.output.remark(
            "the record had vectors and now has none; give --embedding, or --keep-vectors"
        )


def _read(value: str | None) -> str:
    if value is not None and value != "-":
        return value
    if value is None and is_terminal(sys.stdin):
        raise click.UsageError("VALUE is missing; give it, or - to type it")
    return read_text()


def _parsed(text: str, what: str, hint: str = "") -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValidationError(f"{what} is not JSON: {error}{hint}") from None


def _numbers(text: str) -> list[float]:
    numbers = _parsed(text, "the embedding")
    if not isinstance(numbers, list) or not all(
        type(number) in (int, float) for number in cast("list[object]", numbers)
    ):
        raise ValidationError("the embedding is not a list of numbers")
    return cast("list[float]", numbers)


def _sources(
    repository: Repository, session: Session, texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    sources: list[tuple[str, str]] = []
    for text in texts:
        snapshot, key = locate(repository, text, session.branch)
        if key is None:
            raise ValidationError(f"{text!r} is a commit; name a record of it: {text}:KEY")
        sources.append((key, snapshot.commit.id))
    return tuple(sources)


def _has_vectors(repository: Repository, branch: str, key: str) -> bool:
    record = repository.at(branch).get(key)
    return record is not None and bool(record.vectors)
