"""Two hosts, each on a network of its own, work on one repository."""

from contextlib import ExitStack

import pytest

from hosts import Host, NoHosts
from mnemosyne_vcs.testing._acknowledgements import assert_kept, commits_told
from mnemosyne_vcs.testing._children import go
from postgres.proxy import Proxy

COMMITS = 200


@pytest.fixture
def hosts():
    made = []
    with ExitStack() as on_leaving:
        try:
            for number in range(2):
                made.append(Host(number))
                on_leaving.callback(made[-1].remove)
        except NoHosts as error:
            pytest.skip(str(error))
        yield made


@pytest.fixture
def wires(server, hosts):
    """What carries each host's connections to the server."""
    made = [Proxy(server.port, host.gateway) for host in hosts]
    yield made
    for wire in made:
        wire.close()


def test_they_commit_to_one_branch_and_lose_nothing(server, counted_url, hosts, wires, start):
    children = []
    for number, (host, wire) in enumerate(zip(hosts, wires, strict=True)):
        there = f"{host.gateway}:{wire.port}"
        url = counted_url.replace(f"127.0.0.1:{server.port}", there)
        children.append(start("save", url, f"h{number}", COMMITS, within=host.within))
    go(children)
    acknowledged = commits_told(line for child in children for line in child.finish())
    assert len(acknowledged) == len(hosts) * COMMITS
    assert all(wire.round_trips > COMMITS for wire in wires)
    assert_kept(counted_url, acknowledged)
