"""`mnem demo`."""

from pathlib import Path

import click

from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import FilePath, require_file
from mnemosyne_vcs.present.to_json import commit_json


@click.command("demo", cls=Verb)
@click.argument("path", default="demo.mnem", type=FilePath())
@click.option("--crewai", is_flag=True, help="Use real CrewAI crews.")
@pass_session
def command(session: Session, path: str, *, crewai: bool) -> None:
    """See an agent's memory go wrong and get fixed.

    It runs offline with a scripted model, and leaves its store at PATH (demo.mnem if not given)
    to explore.
    """
    from mnemosyne_vcs.cli.demo import run

    require_file(path, "this")
    output = session.output
    try:
        story = run(Path(path), output.console(), crewai=crewai)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "crewai":
            raise
        raise click.ClickException(
            "CrewAI is not installed: pip install 'mnemosyne-vcs[crewai]', or leave out --crewai"
        ) from error
    if output.as_json:
        commits = {"learned": story.learned, "poisoned": story.poisoned, "undone": story.undone}
        shown = {name: commit_json(commit) for name, commit in commits.items()}
        output.json({"path": path, **shown})
