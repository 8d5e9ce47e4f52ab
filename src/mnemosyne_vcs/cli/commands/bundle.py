"""`mnem bundle`."""

import click

from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.progress import progress
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.transfers import FilePath, bundle_json, show_bundle, source_of
from mnemosyne_vcs.sync.bundles import check_bundle


@click.command("bundle", cls=Verb)
@click.argument("path", type=FilePath())
@pass_session
def command(session: Session, path: str) -> None:
    """Check the bundle at PATH (- for standard input), and show which branches and tags it holds.

    A bundle is a CAR file that `mnem export` writes and `mnem import` reads. No store is needed.
    The exit code is 6 if the file is damaged or incomplete.
    """
    output = session.output
    with progress("checking") as advance:
        bundle = check_bundle(source_of(path), advance)
    if output.as_json:
        output.json(bundle_json(bundle))
    else:
        show_bundle(output, "checked", bundle)
