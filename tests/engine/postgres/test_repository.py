"""The contract of repositories, in PostgreSQL."""

from maintenance.test_verify import (  # noqa: F401
    test_verify_two_collectors_readers_and_writers_together,
)
from mnemosyne_vcs.testing.repository import RepositoryContract
from repository.test_interrupts import (  # noqa: F401
    test_many_interrupts_at_random,
    test_signals_and_other_threads_interrupt_at_random,
    test_work_that_is_interrupted_at_any_instant,
)


class TestRepository(RepositoryContract):
    def test_what_is_tested_is_in_postgresql(self, counted_url, repo):
        assert counted_url.startswith("postgresql://")
        assert repo.url.startswith("postgresql://")
