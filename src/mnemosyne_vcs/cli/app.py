"""The command itself: its verbs, loaded when they are used, and how it exits."""

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn, cast

import click

from mnemosyne_vcs.cli.command_base import shared_options
from mnemosyne_vcs.cli.failures import (
    EXIT_CODES,
    INTERRUPTED,
    exit_code,
    not_in_this_locale,
    show_failure,
)
from mnemosyne_vcs.cli.session import Session
from mnemosyne_vcs.cli.suggestions import GIT_WORDS, OTHER_WORDS, OtherWordError
from mnemosyne_vcs.cli.warnings import plain_warnings
from mnemosyne_vcs.errors import MnemosyneError, NotFoundError

__all__ = ["SECTIONS", "Mnem", "mnem"]

SECTIONS = {
    "Begin": ("init", "demo"),
    "Look": (
        "status",
        "log",
        "show",
        "ls",
        "search",
        "grep",
        "why",
        "blame",
        "diff",
        "reflog",
        "stats",
    ),
    "Change": ("put", "rm", "mv", "undo", "revert", "restore", "merge", "cherry-pick"),
    "Find": ("bisect", "trace", "runs", "sources", "agents"),
    "Name": ("branch", "tag"),
    "Exchange": ("clone", "fetch", "pull", "push", "remote", "bundle"),
    "Care": ("verify", "gc", "index", "backup", "export", "import", "completions"),
}
"""Every verb, in the order of `mnem --help`. Verb `x-y` is `command` in `commands/x_y.py`;
that of a Python keyword has a `_` at the end."""

_FIRST_STEPS = (
    "There is no store here yet. To begin:",
    "",
    "  mnem demo        see an agent's memory go wrong and get fixed; takes a second",
    "  mnem init        make an empty store, memory.mnem, in this directory",
    "  mnem -s URL log  look at a store somewhere else",
    "  mnem --help      list all commands",
    "",
    'From Python, `mnemosyne_vcs.open("memory.mnem", create=True)` creates one too. The guides are',
    "in docs/ of the source; begin with docs/guide/five-minutes.md.",
)


class Mnem(click.Group):
    """A group that imports the module of a verb when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of `SECTIONS`."""
        return [verb for verbs in SECTIONS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb with a name, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        name = f"{name}_" if iskeyword(name) else name
        module = import_module(f"mnemosyne_vcs.cli.commands.{name}")
        return cast("click.Command", module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the arguments begin with; a word of git raises `OtherWordError`."""
        known = args[0] in GIT_WORDS or args[0] in OTHER_WORDS
        if known and self.get_command(ctx, args[0]) is None:
            raise OtherWordError(args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, section by section."""
        for title, verbs in SECTIONS.items():
            commands = [(verb, self.get_command(ctx, verb)) for verb in verbs]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (verb, command.get_short_help_str(60))
                        for verb, command in commands
                        if command
                    ]
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run with arguments, report failures in one line, and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        session = Session()

        def as_json() -> bool:
            return session.as_json or "--json" in arguments

        try:
            with plain_warnings(as_json):
                result = super().main(
                    arguments,
                    prog_name,
                    complete_var,
                    standalone_mode=False,
                    windows_expand_args=windows_expand_args,
                    obj=session,
                    **extra,
                )
                session.output.flush()
        except click.Abort:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            sys.exit(1)
        except (MnemosyneError, click.ClickException, OSError) as error:
            show_failure(error, as_json=as_json())
            sys.exit(exit_code(error))
        except UnicodeEncodeError as error:
            failure = not_in_this_locale(error)
            show_failure(failure, as_json=as_json())
            sys.exit(exit_code(failure))
        sys.exit(result if isinstance(result, int) else 0)


@click.command(
    "mnem",
    cls=Mnem,
    invoke_without_command=True,
    params=[*shared_options()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def mnem(ctx: click.Context) -> None:
    """Version control for the memory of AI agents.

    The store is the one that -s names, else MNEMOSYNE_URL, else the only *.mnem file in this
    directory or in the nearest one above that has any.

    A REVISION is a branch, a tag, a commit id or a unique start of one, main~3, main^2,
    main@{yesterday}, 'main@{3 hours ago}' or main@{2026-11-01T09:00Z}. Times are UTC.

    A KEY may be shortened to its last part, or to a start of that, if only one record matches.
    """
    if ctx.invoked_subcommand is None:
        _without_verb(ctx, ctx.ensure_object(Session))


def _without_verb(ctx: click.Context, session: Session) -> None:
    """Show how to begin if there is no store, else the list of verbs."""
    if session.as_json:
        raise click.UsageError("no command was given")
    for line in _FIRST_STEPS if _no_store(session) else ctx.get_help().splitlines():
        session.output.line(line)


def _no_store(session: Session) -> bool:
    try:
        session.find_url()
    except NotFoundError:
        return True
    except click.UsageError:  # several
        return False
    return False
