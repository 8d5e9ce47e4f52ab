"""Tools for testing what is built on Mnemosyne, and engines and backends against its contracts.

`mnemosyne_vcs.testing.engines` holds the contract of engines as a pytest class; it is imported by
itself because it needs pytest.
"""

from mnemosyne_vcs.testing.faults import Fault, FaultyEngine, SlowEngine, random_faults

__all__ = ["Fault", "FaultyEngine", "SlowEngine", "random_faults"]
