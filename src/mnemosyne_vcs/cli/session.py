"""One run of `mnem`: its store and branch, and how it prints."""

import os
from dataclasses import dataclass
from functools import cached_property

import click

import mnemosyne_vcs
from mnemosyne_vcs.cli.find_store import find_store
from mnemosyne_vcs.cli.output import Output
from mnemosyne_vcs.errors import ValidationError
from mnemosyne_vcs.refs import DEFAULT_BRANCH
from mnemosyne_vcs.repository import Repository

__all__ = ["Session"]


@dataclass
class Session:
    """The global options.

    Attributes:
        url: the store that was named, None if none was.
        branch: the branch to look at or to change.
        as_json: whether to print JSON.
        no_pager: whether to print long results without a pager.
    """

    url: str | None = None
    branch: str = DEFAULT_BRANCH
    as_json: bool = False
    no_pager: bool = False

    @cached_property
    def output(self) -> Output:
        """Where results go."""
        return Output(as_json=self.as_json)

    def find_url(self) -> str:
        """The URL of the named store, else of the one that is found.

        Raises:
            NotFoundError: no store was found.
            UsageError: there are several, and none was named.
        """
        return self.url or find_store(os.environ)

    def open(self, *, author: str | None = None) -> Repository:
        """Open the store until the command ends, read-only unless an author is given.

        Args:
            author: the author of commits.

        Raises:
            NotFoundError: no store was found.
            UsageError: there are several, and none was named.
            ValidationError: the store would be a new and empty one in memory.
            MnemosyneError: it cannot be opened.
        """
        url = self.find_url()
        if url.startswith("memory:"):
            raise ValidationError(f"{url} would be new and empty each time; name a file instead")
        repository = mnemosyne_vcs.open(url, read_only=author is None, author=author or "")
        return click.get_current_context().with_resource(repository)

    def author(self, given: str | None) -> str:
        """The author: as given, else `MNEMOSYNE_AUTHOR`, else the user of this process."""
        if author := given or os.environ.get("MNEMOSYNE_AUTHOR"):
            return author
        from getpass import getuser

        try:
            return getuser()
        except (OSError, KeyError):  # a user without a name, as in some containers
            return f"user {os.getuid()}"
