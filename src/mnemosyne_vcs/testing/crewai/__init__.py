"""A conformance suite for CrewAI memory storage backends.

Any implementation of CrewAI's ``StorageBackend`` protocol can run it. Name a callable that takes a
location and opens a backend, and inherit the tests::

    from mnemosyne_vcs.testing.crewai import StorageBackendContract

    class TestMyBackend(StorageBackendContract):
        opener = "my_package.storage:MyBackend"

A backend that can do only part of it inherits the groups that it can do. `CheckpointContract` is
optional: it asks for JSON serialisation, which CrewAI's own backends do not offer either.

``python -m mnemosyne_vcs.testing.crewai`` runs the suite on several backends and writes a table.
The suite needs pytest and crewai; it imports crewai only when a test runs.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "deletion",
            "lifecycle",
            "listing",
            "memory",
            "round_trip",
            "scopes",
            "search",
            "sharing",
            "writing",
        )
    )
)

from mnemosyne_vcs.testing.crewai.base import BackendContract, OpenBackend, load_opener  # noqa: E402
from mnemosyne_vcs.testing.crewai.deletion import DeletionContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.lifecycle import CheckpointContract, LifecycleContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.listing import ListingContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.memory import MemoryContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.round_trip import RoundTripContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.scopes import ScopeContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.search import SearchContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.sharing import SharingContract  # noqa: E402
from mnemosyne_vcs.testing.crewai.writing import DimensionContract, WritingContract  # noqa: E402

__all__ = [
    "BackendContract",
    "CheckpointContract",
    "DeletionContract",
    "DimensionContract",
    "LifecycleContract",
    "ListingContract",
    "MemoryContract",
    "OpenBackend",
    "RoundTripContract",
    "ScopeContract",
    "SearchContract",
    "SharingContract",
    "StorageBackendContract",
    "WritingContract",
    "load_opener",
]


class StorageBackendContract(
    RoundTripContract,
    WritingContract,
    DimensionContract,
    SearchContract,
    ScopeContract,
    ListingContract,
    DeletionContract,
    LifecycleContract,
    SharingContract,
    MemoryContract,
):
    """Every group but the optional `CheckpointContract`."""
