"""`mnem bisect`."""

import os
import shlex
import subprocess
from collections.abc import Callable

import click

from mnemosyne_vcs.cli import completion, describe
from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.find_store import ENVIRONMENT
from mnemosyne_vcs.cli.output import Output, Styled
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.errors import NotFoundError, ValidationError
from mnemosyne_vcs.format.validation import parse_json
from mnemosyne_vcs.graph import Verdict
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.present.lookup import find_key
from mnemosyne_vcs.present.to_json import change_json, commit_json
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.values import Missing, content_at, same_json

COMMIT = "MNEM_COMMIT"

Predicate = Callable[[Snapshot], Verdict]


@click.command("bisect", cls=Verb)
@click.option(
    "--key", metavar="KEY", help="The record that shows the fault.", shell_complete=completion.keys
)
@click.option("--field", metavar="PATH", help="One field of it, such as plan.tier.")
@click.option("--equals", metavar="JSON", help="The fault is that it has this value.")
@click.option("--absent", is_flag=True, help="The fault is that it is missing.")
@click.option("--present", is_flag=True, help="The fault is that it is present.")
@click.option(
    "--good",
    metavar="REVISION",
    help="A commit without the fault; the empty memory if not given.",
    shell_complete=completion.revisions,
)
@click.option(
    "--bad",
    metavar="REVISION",
    help="A commit with the fault; the branch if not given.",
    shell_complete=completion.revisions,
)
@click.argument("test", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@pass_session
def command(
    session: Session,
    key: str | None,
    field: str | None,
    equals: str | None,
    absent: bool,
    present: bool,
    good: str | None,
    bad: str | None,
    test: tuple[str, ...],
) -> None:
    """Find the commit that introduced a fault.

    A thousand commits take about ten tests. Describe the fault by --key and one of --equals,
    --absent and --present, or by a command after --. The command is run for each commit to test,
    with its id in MNEM_COMMIT and the store in MNEMOSYNE_URL. Its exit code says whether the
    memory is good (0) or has the fault (1 to 127), cannot be tested (125), or that the search
    must stop (128 or more).
    """
    repository, output = session.open(), session.output
    bad = bad or session.branch
    if key is None:
        predicate = _by_command(repository, output, test, [field, equals, absent, present])
    else:
        if test:
            raise click.UsageError("give either --key or a command, not both")
        predicate = _by_record(_whole_key(repository, key, bad), field, equals, absent, present)
    told = _telling(output, predicate)
    _check_ends(repository, told, good, bad)
    _show(output, repository, repository.bisect(told, good=good, bad=bad))


def _by_record(
    key: str, field: str | None, equals: str | None, absent: bool, present: bool
) -> Predicate:
    if (equals is not None) + absent + present != 1:
        raise click.UsageError("with --key, give one of --equals, --absent and --present")
    wanted = None if equals is None else _json(equals)

    def faulty(snapshot: Snapshot) -> bool:
        record = snapshot.get(key)
        value: object = Missing.ABSENT
        if record is not None:
            value = content_at(record.content, field.split(".") if field else [])
        if equals is not None:
            return same_json(value, wanted)
        return (value is Missing.ABSENT) is absent

    return faulty


def _json(text: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValidationError(
            f"--equals {text!r:.80} is not JSON ({error}); a text needs double quotes, as in "
            f"--equals '\"{text:.80}\"'"
        ) from None


def _whole_key(repository: Repository, key: str, at: str) -> str:
    """The key that a text means at the commit with the fault, where the record may be gone."""
    try:
        return find_key(repository.at(at), key)
    except NotFoundError:
        return key


def _by_command(
    repository: Repository, output: Output, test: tuple[str, ...], others: list[object]
) -> Predicate:
    if not test or any(others):
        raise click.UsageError("describe the fault by --key KEY, or by a command after --")

    def faulty(snapshot: Snapshot) -> Verdict:
        commit = snapshot.commit.id
        environment = {**os.environ, COMMIT: commit, ENVIRONMENT: repository.url}
        stdout = subprocess.DEVNULL if output.as_json else None
        try:
            code = subprocess.run(test, env=environment, stdout=stdout, check=False).returncode
        except (OSError, ValueError) as error:  # a name that no program has or can have
            raise click.ClickException(
                f"the command {shlex.join(test)} cannot be started: {error}"
            ) from error
        if code < 0 or code >= 128:
            raise click.ClickException(
                f"{shlex.join(test)} exited with {code} at {commit}, so the search was stopped"
            )
        return "skip" if code == 125 else code != 0

    return faulty


def _telling(output: Output, predicate: Predicate) -> Predicate:
    """The predicate, called once for each commit, which also prints each answer."""
    known: dict[str, Verdict] = {}

    def told(snapshot: Snapshot) -> Verdict:
        commit = snapshot.commit
        if commit.id not in known:
            known[commit.id] = verdict = predicate(snapshot)
            word = "skip" if verdict == "skip" else "bad " if verdict else "good"
            by = describe.plain(describe.byline(commit))
            output.remark(f"{word}  {by}  {describe.title(commit)}")
        return known[commit.id]

    return told


def _check_ends(repository: Repository, told: Predicate, good: str | None, bad: str) -> None:
    if told(repository.at(bad)) is not True:
        raise NotFoundError(f"{bad} does not have the fault; name a commit that has it with --bad")
    if told(repository.at(good or ROOT_COMMIT.id)) is not False:
        where = good or "the empty memory before the first commit"
        raise ValidationError(
            f"{where} has the fault already; name a commit without it with --good"
        )


def _show(output: Output, repository: Repository, commit: Commit) -> None:
    changes = list(repository.diff(commit.parents[0], commit.id))
    if output.as_json:
        shown = [change_json(change) for change in changes]
        output.json({"commit": commit_json(commit), "changes": shown})
        return
    output.line(Styled("The first bad commit", "title"))
    output.line(*describe.byline(commit), "  ", describe.title(commit))
    if commit.trailers:
        output.line(" " * 12, Styled(describe.trailers(commit), "dim"))
    output.line()
    describe.changes(output, changes)
