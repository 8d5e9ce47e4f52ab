"""What all verbs share: the options that may be given before or after the verb."""

from collections.abc import Callable
from typing import Any

import click

import mnemosyne_vcs
from mnemosyne_vcs.cli import completion
from mnemosyne_vcs.cli.pager import paging
from mnemosyne_vcs.cli.session import Session

__all__ = ["PagedVerb", "Verb", "pass_session", "shared_options"]

pass_session = click.make_pass_decorator(Session)
"""Decorator that passes the session to a verb as its first argument."""


class Verb(click.Command):
    """A command that also takes the options of the group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(shared_options())


class PagedVerb(Verb):
    """A verb whose output goes through a pager on a terminal."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, with its output in a pager if it is long."""
        session = ctx.ensure_object(Session)
        with paging(wanted=not (session.no_pager or session.as_json)):
            return super().invoke(ctx)


def shared_options() -> list[click.Option]:
    """The options of the group and of every verb; the last one given wins."""
    return [
        click.Option(
            ["-s", "--store"],
            metavar="URL",
            expose_value=False,
            callback=_into_session("url"),
            help="The store: a path, or a URL such as postgresql://… or s3://….",
        ),
        click.Option(
            ["-b", "--branch"],
            metavar="BRANCH",
            expose_value=False,
            callback=_into_session("branch"),
            shell_complete=completion.branches,
            help="The branch to look at or to change; main if not given.",
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            default=None,
            expose_value=False,
            callback=_into_session("as_json"),
            help="Print JSON: one object, or one a line.",
        ),
        click.Option(
            ["--no-pager", "no_pager"],
            is_flag=True,
            default=None,
            expose_value=False,
            callback=_into_session("no_pager"),
            help="Do not use a pager.",
        ),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version and exit.",
        ),
    ]


def _into_session(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def remember(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(ctx.ensure_object(Session), name, value)

    return remember


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.ensure_object(Session).output.line(f"mnem {mnemosyne_vcs.__version__}")
        ctx.exit()
