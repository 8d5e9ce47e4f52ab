"""Version control for the memory of AI agents."""

from mnemosyne.bundles import Bundle
from mnemosyne.cloning import clone
from mnemosyne.collect import GcReport
from mnemosyne.engine.filesystems import NetworkFileSystemWarning
from mnemosyne.errors import (
    AlreadyExistsError,
    BusyError,
    ConflictError,
    CorruptObjectError,
    DimensionError,
    EngineError,
    FormatVersionError,
    InconclusiveError,
    InvalidRevisionError,
    MnemosyneError,
    NotFoundError,
    ReadOnlyError,
    RefConflictError,
    TransactionDoneError,
    ValidationError,
)
from mnemosyne.fields import FieldChange, field_changes
from mnemosyne.maintenance import Problem, Stats, VerifyReport
from mnemosyne.model import (
    ActionPlan,
    Blame,
    Change,
    Commit,
    Conflict,
    Hit,
    MergePlan,
    Provenance,
    Record,
    ReflogEntry,
    Revision,
)
from mnemosyne.repository import Repository
from mnemosyne.repository import open_repository as open
from mnemosyne.resolve import Value, value
from mnemosyne.snapshot import Snapshot
from mnemosyne.sync import Transfer
from mnemosyne.trace import Retraction, Traced
from mnemosyne.transaction import Transaction

__version__ = "0.1.0"

__all__ = [
    "ActionPlan",
    "AlreadyExistsError",
    "Blame",
    "Bundle",
    "BusyError",
    "Change",
    "Commit",
    "Conflict",
    "ConflictError",
    "CorruptObjectError",
    "DimensionError",
    "EngineError",
    "FieldChange",
    "FormatVersionError",
    "GcReport",
    "Hit",
    "InconclusiveError",
    "InvalidRevisionError",
    "MergePlan",
    "MnemosyneError",
    "NetworkFileSystemWarning",
    "NotFoundError",
    "Problem",
    "Provenance",
    "ReadOnlyError",
    "Record",
    "RefConflictError",
    "ReflogEntry",
    "Repository",
    "Retraction",
    "Revision",
    "Snapshot",
    "Stats",
    "Traced",
    "Transaction",
    "TransactionDoneError",
    "Transfer",
    "ValidationError",
    "Value",
    "VerifyReport",
    "clone",
    "field_changes",
    "open",
    "value",
]
