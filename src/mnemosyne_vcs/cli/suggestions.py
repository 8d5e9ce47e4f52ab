"""Words that users of git and of other stores type, and the equivalents here."""

import click

__all__ = ["GIT_WORDS", "OTHER_WORDS", "OtherWordError"]

_NO_CHECKOUT = "nothing is checked out here: read any revision with `mnem show REVISION`"
_SAFE = "every write is a commit, so there is nothing to stash"

GIT_WORDS = {
    "add": "there is no staging area: `mnem put KEY JSON` writes and commits",
    "am": "there are no patches: `mnem cherry-pick COMMIT` applies a commit again",
    "checkout": f"{_NO_CHECKOUT}, write to a branch with -b BRANCH, bring records back with "
    "`mnem restore`",
    "clean": "there is no working copy; `mnem gc` removes what nothing reaches",
    "commit": "every write is a commit already: `mnem put KEY JSON -m MESSAGE`",
    "config": "there are no settings; see Environment in the reference",
    "fsck": "use `mnem verify`",
    "rebase": "history is not rewritten: use `mnem merge`, or `mnem cherry-pick` onto a branch",
    "reset": "history is not rewritten: use `mnem undo`, or `mnem restore` to bring a state back",
    "stash": f"{_SAFE}; try things on a branch: `mnem branch NAME`",
    "switch": f"{_NO_CHECKOUT}, write to a branch with -b BRANCH",
    "worktree": f"{_NO_CHECKOUT}; any number of programs work on any branches at once",
}
"""The answer to each command of git; a verb of the same name has precedence."""

OTHER_WORDS = {
    "cat": "use `mnem show KEY`",
    "del": "use `mnem rm KEY`",
    "delete": "use `mnem rm KEY`",
    "dump": "use `mnem export`",
    "edit": "use `mnem put KEY JSON`, which replaces what is there",
    "find": "use `mnem search` for words, `mnem grep` for exact text",
    "get": "use `mnem show KEY`",
    "history": "use `mnem log`, or `mnem why KEY`",
    "list": "use `mnem ls`",
    "load": "use `mnem import`",
    "move": "use `mnem mv OLD NEW`",
    "query": "use `mnem search`",
    "read": "use `mnem show KEY`",
    "remove": "use `mnem rm KEY`",
    "rename": "use `mnem mv OLD NEW`",
    "save": "use `mnem put KEY JSON`",
    "set": "use `mnem put KEY JSON`",
    "update": "use `mnem put KEY JSON`, which replaces what is there",
    "write": "use `mnem put KEY JSON`",
}
"""The answer to each command of other stores."""


class OtherWordError(click.ClickException):
    """A command of git or another store that is not a verb; the message names the equivalent."""

    exit_code = 2
    kind = "usage"

    def __init__(self, word: str) -> None:
        known = GIT_WORDS.get(word)
        super().__init__(
            f"`{word}` is a git command; {known}" if known else f"no `{word}`; {OTHER_WORDS[word]}"
        )
