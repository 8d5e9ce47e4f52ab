"""Tools for testing applications, and contracts for testing engines and backends.

`mnemosyne_vcs.testing.engines` and `mnemosyne_vcs.testing.repository` hold the contracts of engines
and of repositories as pytest classes. They are not imported here because they need pytest, and the
second one needs hypothesis.
"""

from mnemosyne_vcs.testing.faults import Fault, FaultyEngine, SlowEngine, random_faults

__all__ = ["Fault", "FaultyEngine", "SlowEngine", "random_faults"]
