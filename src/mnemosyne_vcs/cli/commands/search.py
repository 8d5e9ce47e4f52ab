"""`mnem search`."""

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.marks import found_in, marked
from mnemosyne_vcs.cli.output import Output, Part, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.where_options import all_of, where_option
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.model import Blame, SearchHit
from mnemosyne_vcs.present.lookup import find_key
from mnemosyne_vcs.present.to_json import commit_json, record_json
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.views.query import Unit, parse_query
from mnemosyne_vcs.views.where import Predicate

_MOST_TEXTS = 3


@click.command("search", cls=Verb)
@click.argument("query", nargs=-1)
@click.option(
    "--like",
    metavar="KEY",
    help="A record whose embedding the others are compared with.",
    shell_complete=completion.keys,
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    metavar="N",
    help="At most N records; 10 if not given.",
)
@click.option("--prefix", default="", metavar="PREFIX", help="Only keys that start with this.")
@where_option
@click.option(
    "--at",
    metavar="REVISION",
    help="Search the memory as of this revision.",
    shell_complete=completion.revisions,
)
@pass_session
def command(
    session: Session,
    query: tuple[str, ...],
    like: str | None,
    limit: int,
    prefix: str,
    conditions: list[Predicate],
    at: str | None,
) -> None:
    """Find the records that fit QUERY best, by their words, or those most similar to a record.

    Each word of QUERY counts and none is required. "over 200" in quotes, and what is written
    without a space, is a phrase; refun* is every word that starts so. The rank of a record is
    that of BM25 over the words of its key and content, in any script.

    With --like, similarity is the exact cosine of the embeddings. With both, the two rankings are
    joined by reciprocal ranks. With --json, one object a line.
    """
    repository, output = session.open(), session.output
    snapshot, text = repository.at(at or session.branch), " ".join(query)
    if not query and like is None:
        raise click.UsageError("give words to search for, or a record with --like KEY")
    hits = _hits(snapshot, text if query else None, like, prefix, conditions, limit)
    units = parse_query(text)
    for hit in hits if query or output.as_json else ():
        _show(output, hit, repository.blame(hit.record.key, snapshot.commit), units)
    if not query and not output.as_json:
        output.table(
            [
                [f"{hit.score:.4f}", Styled(hit.record.key, "key"), describe.preview(hit.record)]
                for hit in hits
            ]
        )
    if not hits:
        nothing = "no record there fits" if query else "no other record there has an embedding"
        output.remark(nothing)


def _hits(
    snapshot: Snapshot,
    text: str | None,
    like: str | None,
    prefix: str,
    conditions: list[Predicate],
    limit: int,
) -> list[SearchHit]:
    where = all_of(conditions)
    if like is None:
        return snapshot.search(text=text, mode="words", prefix=prefix, where=where, limit=limit)
    record = snapshot[find_key(snapshot, like)]
    if record.embedding is None:
        raise ValidationError(f"record {record.key!r} has no embedding to search by")
    hits = snapshot.search(record.embedding, text=text, prefix=prefix, where=where, limit=limit + 1)
    return [hit for hit in hits if hit.record.key != record.key][:limit]


def _show(output: Output, hit: SearchHit, blame: Blame, units: tuple[Unit, ...]) -> None:
    """Print a hit: its key and score, where the words are, and who wrote it from what."""
    record, found = hit.record, found_in(hit.record, units)
    if output.as_json:
        matches = [
            {"path": path, "text": text, "spans": [list(span) for span in spans]}
            for path, text, spans in found
        ]
        output.json(
            {
                "score": hit.score,
                "record": record_json(record),
                "matches": matches,
                "commit": commit_json(blame.commit),
            }
        )
        return
    in_key = [spans for path, _, spans in found if path is None]
    key = marked(record.key, in_key[0] if in_key else (), "key")
    output.line(*key, "  ", Styled(f"{hit.score:.4f}", "dim"))
    inside = [(path, text, spans) for path, text, spans in found if path is not None]
    for path, text, spans in inside[:_MOST_TEXTS]:
        name: list[Part] = [Styled(f"{path}: ", "dim")] if path else []
        output.line("    ", *name, *marked(text, spans))
    if not inside:
        output.line("    ", describe.shortened_preview(record))
    from_what = [
        part for name, value in describe.origin(record) for part in ("  ", f"{name} ", value)
    ]
    output.line("    ", *describe.byline(blame.commit), *from_what)
