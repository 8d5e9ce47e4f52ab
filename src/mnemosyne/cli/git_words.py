"""Words that git users type, and what says the same here."""

import click

__all__ = ["GIT_WORDS", "GitWordError"]

_NO_CHECKOUT = "nothing is checked out here: read any revision with `mnem show REVISION`"
_SAFE = "every write is a commit, so there is nothing to set aside"

GIT_WORDS = {
    "add": "there is no staging area: `mnem put KEY JSON` writes and commits",
    "am": "there are no patches: `mnem cherry-pick COMMIT` applies a commit again",
    "checkout": f"{_NO_CHECKOUT}, write to a branch with -b BRANCH, bring records back with "
    "`mnem restore`",
    "clean": "there is no working copy; `mnem gc` removes what nothing reaches",
    "commit": "every write is a commit already: `mnem put KEY JSON -m MESSAGE`",
    "config": "there are no settings; see Environment in the reference",
    "fsck": "use `mnem verify`",
    "grep": "use `mnem search --like KEY`, or `mnem ls -rl` and your grep",
    "rebase": "history is not rewritten: use `mnem merge`, or `mnem cherry-pick` onto a branch",
    "reset": "history is not rewritten: use `mnem undo`, or `mnem restore` to bring a state back",
    "stash": f"{_SAFE}; try things on a branch: `mnem branch NAME`",
    "switch": f"{_NO_CHECKOUT}, write to a branch with -b BRANCH",
    "worktree": f"{_NO_CHECKOUT}; any number of programs work on any branches at once",
}
"""What to say to each word; a verb of the same name has precedence."""


class GitWordError(click.ClickException):
    """A word of git's that is no verb here; the message is the equivalent."""

    exit_code = 2
    kind = "usage"

    def __init__(self, word: str) -> None:
        super().__init__(f"`{word}` is git's word; {GIT_WORDS[word]}")
