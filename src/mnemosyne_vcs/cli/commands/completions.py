"""`mnem completions`."""

import click

from mnemosyne_vcs.cli.command_base import Verb, pass_session
from mnemosyne_vcs.cli.session import Session

SHELLS = ("bash", "zsh", "fish")
_WHERE = {
    "bash": 'eval "$(mnem completions bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(mnem completions zsh)"    # in ~/.zshrc, after compinit',
    "fish": "mnem completions fish > ~/.config/fish/completions/mnem.fish",
}


@click.command("completions", cls=Verb)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete verbs, branches, keys and commits.

    bash: put eval "$(mnem completions bash)" into ~/.bashrc. zsh: put eval "$(mnem completions
    zsh)" into ~/.zshrc, after compinit. fish: write it to ~/.config/fish/completions/mnem.fish.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"there is no completion for {shell}")
    script = made(ctx.find_root().command, {}, "mnem", "_MNEM_COMPLETE").source()
    output = session.output
    if output.as_json:
        output.json({"shell": shell, "script": script})
        return
    for line in script.split("\n"):
        output.line(line)
    if output.terminal:
        output.remark(f"to use it: {_WHERE[shell]}")
