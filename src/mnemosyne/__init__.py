"""Version control for the memory of AI agents."""

from mnemosyne.errors import (
    AlreadyExistsError,
    BusyError,
    ConflictError,
    CorruptObjectError,
    DimensionError,
    EngineError,
    ErasedError,
    FormatVersionError,
    InvalidRevisionError,
    MnemosyneError,
    NotFoundError,
    ReadOnlyError,
    RefConflictError,
    ValidationError,
)
from mnemosyne.maintenance import Problem, Stats, VerifyReport
from mnemosyne.model import Blame, Change, Commit, Conflict, Hit, Provenance, Record, ReflogEntry
from mnemosyne.repository import Repository
from mnemosyne.repository import open_repository as open
from mnemosyne.snapshot import Snapshot
from mnemosyne.transaction import Transaction

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "Blame",
    "BusyError",
    "Change",
    "Commit",
    "Conflict",
    "ConflictError",
    "CorruptObjectError",
    "DimensionError",
    "EngineError",
    "ErasedError",
    "FormatVersionError",
    "Hit",
    "InvalidRevisionError",
    "MnemosyneError",
    "NotFoundError",
    "Problem",
    "Provenance",
    "ReadOnlyError",
    "Record",
    "RefConflictError",
    "ReflogEntry",
    "Repository",
    "Snapshot",
    "Stats",
    "Transaction",
    "ValidationError",
    "VerifyReport",
    "open",
]
