"""Version control for the memory of AI agents."""

from mnemosyne_vcs.engine.sqlite.filesystems import NetworkFileSystemWarning
from mnemosyne_vcs.errors import (
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
from mnemosyne_vcs.history.fields import FieldChange, field_changes
from mnemosyne_vcs.history.trace import Traced
from mnemosyne_vcs.maintenance.backup import Stats
from mnemosyne_vcs.maintenance.gc import GcReport
from mnemosyne_vcs.maintenance.verify import Problem, VerifyReport
from mnemosyne_vcs.merge.resolutions import Value, value
from mnemosyne_vcs.merge.retract import Retraction
from mnemosyne_vcs.model import (
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
from mnemosyne_vcs.repository import Repository
from mnemosyne_vcs.repository import open_repository as open
from mnemosyne_vcs.repository.clone import clone
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.sync.branches import Transfer
from mnemosyne_vcs.sync.bundles import Bundle
from mnemosyne_vcs.transaction.transaction import Transaction

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

for _name in __all__:
    _public = globals()[_name]
    if _public.__module__.startswith("mnemosyne_vcs."):
        _public.__module__ = "mnemosyne_vcs"
