"""The reference of `mnem` as Markdown, made from the commands.

`python -m mnemosyne_vcs.cli.reference` prints it.

A test compares it with `docs/cli.md`.
"""

import inspect
from collections.abc import Iterator

import click

from mnemosyne_vcs.cli.app import SECTIONS, mnem
from mnemosyne_vcs.cli.command_base import shared_options
from mnemosyne_vcs.cli.failures import EXIT_CODES

__all__ = ["reference"]

_SETTINGS = """\
## Environment

| variable | what it does |
| --- | --- |
| `MNEMOSYNE_URL` | the store, where `-s` does not name one |
| `MNEMOSYNE_AUTHOR` | the author, unless `--author` names one; else the user's name |
| `MNEM_PAGER`, else `PAGER` | the pager; `less` if neither is set, none if it is empty or `cat` |
| `NO_COLOR` | if it is not empty, no colours; nor with `TERM=dumb` |

## Output

On a terminal, `mnem` colours its output and cuts long texts in tables to the width. To a pipe or a
file it prints plain text and cuts nothing. Output that is longer than the screen goes through a
pager, for `log`, `show`, `diff`, `blame` and `reflog`, unless `--no-pager` is given.

Invisible characters in stored texts are escaped, so that no text can pass for a line of `mnem`, nor
change the text beside it: a line break as `\\n`, and as `\\u001b` or `\\u202e` other controls,
marks for the direction of writing and characters without width. With `--json` they are escaped as
in JSON. If the result of a verb cannot be written, the error says what was done before.

With `--json`, a verb prints one JSON object; one that lists things prints one a line. A verb that
commits prints the commit, or `null` if it changed nothing. Times are UTC milliseconds.

A verb that removes something shows what, and asks first. `--dry-run` only shows it, `--yes` does
not ask; without a terminal, one of the two is needed.

Errors go to stderr, as one line, followed by details where there are any. With `--json`
they are `{"error": {"kind": …, "message": …}}`; a conflict also has `conflicts`,
and a search without a single answer `candidates`. A warning is one line on stderr too, with
`--json` `{"warning": {"kind": …, "message": …}}`; the verb goes on."""


def reference() -> str:
    """The whole page."""
    parts = ["# `mnem`", _text(mnem), "## Options", _shared(), *_verbs(), _SETTINGS, _codes()]
    return "\n\n".join(parts) + "\n"


def _verbs() -> Iterator[str]:
    group = click.Context(mnem, info_name="mnem")
    for section, verbs in SECTIONS.items():
        yield f"## {section}"
        for verb in verbs:
            command = mnem.get_command(group, verb)
            if command is None:
                raise LookupError(f"no module defines the verb {verb!r}")
            yield from _verb(click.Context(command, group, info_name=verb))


def _verb(context: click.Context) -> Iterator[str]:
    command = context.command
    shared = {option.name for option in shared_options()}
    own = [param for param in command.params if param.name not in shared]
    options = [param for param in own if isinstance(param, click.Option)]
    usage = " ".join(_usage(param) for param in own)
    yield f"### `mnem {context.info_name}`"
    yield f"```text\nmnem {context.info_name} {usage}".rstrip() + "\n```"
    yield _text(command)
    if options:
        yield _table(options)


def _usage(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        name = param.metavar or (param.name or "").upper()
        return name if param.required else f"[{name}]"
    option = " ".join([param.opts[0], *_value(param)])
    return option if param.required else f"[{option}]"


def _value(option: click.Parameter) -> list[str]:
    return [option.metavar] if option.metavar else []


def _shared() -> str:
    return "These may be given before or after the verb.\n\n" + _table(shared_options())


def _table(options: list[click.Option]) -> str:
    rows = [
        f"| `{' '.join([', '.join(option.opts), *_value(option)])}` | {option.help} |"
        for option in options
    ]
    return "\n".join(["| option | what it does |", "| --- | --- |", *rows])


def _codes() -> str:
    rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["## Exit codes", "", "| code | meaning |", "| --- | --- |", *rows])


def _text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


if __name__ == "__main__":
    print(reference(), end="")
