"""`mnem demo`."""

from pathlib import Path

import click

from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import FilePath, require_file
from mnemosyne_vcs.present.to_json import commit_json


@click.command("demo", cls=Verb)
@click.argument("path", default="demo.mnem", type=FilePath())
@pass_session
def command(session: Session, path: str) -> None:
    """See a CrewAI crew's memory go wrong and be put right.

    It plays offline, and leaves its store at PATH (demo.mnem if not given) to explore.
    """
    from mnemosyne_vcs.cli.demo import run

    require_file(path, "this")
    output = session.output
    try:
        story = run(Path(path), output.console())
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "crewai":
            raise
        raise click.ClickException(
            "the demo plays with CrewAI, which is not installed: "
            "pip install 'mnemosyne-vcs[crewai]'"
        ) from error
    if output.as_json:
        commits = {"learned": story.learned, "poisoned": story.poisoned, "undone": story.undone}
        shown = {name: commit_json(commit) for name, commit in commits.items()}
        output.json({"path": path, **shown})
