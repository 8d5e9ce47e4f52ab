"""A store that fails: the outcome is found out, and nothing is half written."""

from mnemosyne_vcs.testing.repository.faults import FaultsContract


class TestFaults(FaultsContract):
    pass
