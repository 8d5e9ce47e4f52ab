"""Many clients, sudden deaths of theirs and of the store's servers, for `SOAK_SECONDS`."""

import pytest

from objectstore.server import SeaweedFS
from soak import Soak, assert_sound


@pytest.fixture
def own(keys):
    store = SeaweedFS()
    yield store
    store.remove()


@pytest.mark.soak
def test_servers_that_are_killed_under_sixteen_processes_that_are(own):
    def restart():
        for name in ("volume", "s3"):
            own.programs[name].kill()
            own.programs[name].start()

    assert_sound(Soak(own.url("soak", retry_for=5, timeout=5), restart).run())
