"""Tools for testing applications, and contracts for testing engines and backends.

`mnemosyne_vcs.testing.engines` holds the contract of engines as a pytest class; it is not
imported here because it needs pytest.
"""

from mnemosyne_vcs.testing.faults import Fault, FaultyEngine, SlowEngine, random_faults

__all__ = ["Fault", "FaultyEngine", "SlowEngine", "random_faults"]
