"""Version control for the memory of AI agents."""

from mnemosyne_vcs.embedding import Embed, VectorLike
from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.engine.registry import EngineFactory, register_engine
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
from mnemosyne_vcs.history.activity import Activity
from mnemosyne_vcs.history.fields import FieldChange, field_changes
from mnemosyne_vcs.history.trace import TracedRecord
from mnemosyne_vcs.maintenance.backup import Stats
from mnemosyne_vcs.maintenance.gc import GcReport
from mnemosyne_vcs.maintenance.verify import Problem, VerifyReport
from mnemosyne_vcs.merge.operation import Plan
from mnemosyne_vcs.merge.resolutions import OnConflict, Replacement, Resolution
from mnemosyne_vcs.merge.retract import Retraction
from mnemosyne_vcs.model import (
    JSON,
    Blame,
    Change,
    Commit,
    Conflict,
    Provenance,
    Record,
    ReflogEntry,
    Revision,
    SearchHit,
    SearchMode,
    TextMatch,
    Vectors,
)
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.repository import Repository, open_repository
from mnemosyne_vcs.repository.clone import clone
from mnemosyne_vcs.snapshot import Snapshot
from mnemosyne_vcs.sync.branches import TransferReport
from mnemosyne_vcs.sync.bundles import Bundle
from mnemosyne_vcs.transaction.transaction import Transaction
from mnemosyne_vcs.views.where import Where

__version__ = "0.1.0"

open = open_repository
"""See `open_repository`. Not in `__all__`: a star import leaves the builtin as it is."""

__all__ = [
    "JSON",
    "Activity",
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
    "Embed",
    "Engine",
    "EngineError",
    "EngineFactory",
    "FieldChange",
    "FormatVersionError",
    "GcReport",
    "InconclusiveError",
    "InvalidRevisionError",
    "MnemosyneError",
    "NetworkFileSystemWarning",
    "NotFoundError",
    "OnConflict",
    "Plan",
    "Problem",
    "Provenance",
    "ReadOnlyError",
    "Record",
    "RefConflictError",
    "ReflogEntry",
    "Replacement",
    "Repository",
    "Resolution",
    "Retraction",
    "Revision",
    "SearchHit",
    "SearchMode",
    "Snapshot",
    "Stats",
    "TextMatch",
    "TracedRecord",
    "Transaction",
    "TransactionDoneError",
    "TransferReport",
    "ValidationError",
    "VectorLike",
    "Vectors",
    "VerifyReport",
    "Where",
    "clone",
    "field_changes",
    "initialise",
    "register_engine",
]

for _name in (*__all__, "open"):
    _public = globals()[_name]
    if getattr(_public, "__module__", "").startswith("mnemosyne_vcs."):
        _public.__module__ = "mnemosyne_vcs"
