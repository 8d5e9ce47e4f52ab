"""Every error that Mnemosyne raises, as one tree named by what the caller can do about it.

```
MnemosyneError
├── NotFoundError (KeyError)        name something that exists, or create it
├── AlreadyExistsError              choose another name
├── InvalidRevisionError (ValueError)   write the revision differently
├── ValidationError (ValueError)    correct the value
│   └── DimensionError              embed with the model that the branch was embedded with
├── ConflictError                   resolve the conflicts, or try again on the new head
│   └── RefConflictError            read the ref again and try again
├── TransactionDoneError            begin another transaction
├── InconclusiveError               look at the candidates yourself
├── ReadOnlyError (PermissionError) open the store for writing
├── CorruptObjectError              restore the object from a backup or a clone
├── FormatVersionError              upgrade Mnemosyne
└── EngineError (OSError)           correct the cause: disk, permissions, server
    └── BusyError                   wait and try again
```

`kind` is a stable word for programs (`--json`, servers); kinds are only added.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from mnemosyne_vcs.model import Commit, Conflict

__all__ = [
    "AlreadyExistsError",
    "BusyError",
    "ConflictError",
    "CorruptObjectError",
    "DimensionError",
    "EngineError",
    "FormatVersionError",
    "InconclusiveError",
    "InvalidRevisionError",
    "MnemosyneError",
    "NotFoundError",
    "ReadOnlyError",
    "RefConflictError",
    "TransactionDoneError",
    "ValidationError",
]


class MnemosyneError(Exception):
    """Base of every error raised by Mnemosyne."""

    kind: ClassVar[str] = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class NotFoundError(MnemosyneError, KeyError):
    """A store, key, ref, revision or object that was named does not exist."""

    kind = "not-found"


class AlreadyExistsError(MnemosyneError):
    """A store, branch or tag of that name exists already."""

    kind = "already-exists"


class InvalidRevisionError(MnemosyneError, ValueError):
    """The text is not a revision, or names more than one commit."""

    kind = "invalid-revision"


class ValidationError(MnemosyneError, ValueError):
    """A key, content, vector, name or argument is outside what the format can hold."""

    kind = "validation"


class DimensionError(ValidationError):
    """A vector has another dimension, or comes from another model, than those around it."""

    kind = "dimension"


class ConflictError(MnemosyneError):
    """Two sides changed the same thing; nothing was written.

    Attributes:
        conflicts: what clashes, one `mnemosyne_vcs.Conflict` a key.
    """

    kind = "conflict"

    def __init__(self, message: str, conflicts: "Sequence[Conflict]" = ()) -> None:
        super().__init__(message)
        self.conflicts: tuple[Conflict, ...] = tuple(conflicts)


class RefConflictError(ConflictError):
    """A ref was not where the caller expected it; nothing was written."""

    kind = "ref-conflict"


class TransactionDoneError(MnemosyneError):
    """A transaction was used after it was committed or rolled back."""

    kind = "transaction-done"


class InconclusiveError(MnemosyneError):
    """A search through history cannot be narrowed down to one commit.

    Attributes:
        candidates: the commits among which the answer is, oldest first.
    """

    kind = "inconclusive"

    def __init__(self, message: str, candidates: "Sequence[Commit]" = ()) -> None:
        super().__init__(message)
        self.candidates: tuple[Commit, ...] = tuple(candidates)


class ReadOnlyError(MnemosyneError, PermissionError):
    """The repository, snapshot or file system does not accept writes."""

    kind = "read-only"


class CorruptObjectError(MnemosyneError):
    """Stored bytes are not what their id says, do not follow the format, or are incomplete."""

    kind = "corrupt"


class FormatVersionError(MnemosyneError):
    """The store was written in a format that this version does not know."""

    kind = "format-version"


class EngineError(MnemosyneError, OSError):
    """The engine failed: disk, permissions, server or network."""

    kind = "engine"


class BusyError(EngineError):
    """Another writer held the store for longer than the busy timeout."""

    kind = "busy"
