"""Many clients and sudden deaths for `SOAK_SECONDS`, on one file."""

import pytest

from soak import Soak, assert_sound


@pytest.mark.soak
def test_a_file_shared_by_sixteen_processes_that_are_killed(shared_url: str):
    report = Soak(shared_url).run()
    assert_sound(report)
    assert not report.errors
