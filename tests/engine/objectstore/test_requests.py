"""How many requests things cost, each of which is a round trip, and some money."""

from collections import Counter

import pytest

import mnemosyne_vcs
from mnemosyne_vcs.engine.objectstore.bucket import Bucket
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id

METHODS = "get", "get_unless", "get_range", "put", "put_if", "list", "modified", "delete"
BLOCK = object_id(b"data")


@pytest.fixture
def requests(monkeypatch):
    """Counts the requests of each method; `took()` gives them and begins anew."""
    counter = Counter()

    def counting(name, method):
        def call(bucket, *arguments):
            if arguments != ([],):  # to delete nothing is no request
                counter[name] += 1
            return method(bucket, *arguments)

        return call

    for name in METHODS:
        monkeypatch.setattr(Bucket, name, counting(name, getattr(Bucket, name)))
    return counter


def took(counter):
    found = dict(counter)
    counter.clear()
    return found


@pytest.fixture
def repo(url):
    with mnemosyne_vcs.open(url, create=True, author="tester") as repository:
        repository.put("a", 0, embedding=[1, 0])
        yield repository


def test_a_warm_commit_is_one_pack_and_the_manifest(repo, requests):
    for number in range(3):
        repo.put(f"new/{number}", number, embedding=[1, number])
        cost = took(requests)
        assert cost.pop("get_unless", 0) <= 1
        assert cost == {"put": 1, "put_if": 1}
        repo.put("a", number)
        cost = took(requests)
        assert cost.pop("get_unless", 0) <= 1
        assert cost == {"put": 1, "put_if": 1}


def test_a_directory_keeps_what_was_read_for_the_next_process(repo, url, requests, tmp_path):
    near = f"{url}&cache={tmp_path / 'near'}"
    for expected in (True, False):
        with mnemosyne_vcs.open(near, read_only=True) as reader:
            assert list(reader.at().search([1, 0])[0].record.embedding) == [1, 0]
        cost = took(requests)
        assert bool(cost.get("get", 0) + cost.get("get_range", 0)) == expected


def test_a_commit_upon_that_of_another_host(repo, url, requests):
    with mnemosyne_vcs.open(url) as other:
        other.put("other", 1)
        requests.clear()
        repo.put("mine", 1)
        assert took(requests).get("put_if", 0) <= 2


def test_where_a_ref_is_costs_one_request(repo, requests):
    engine = repo.blocks.engine
    for ask in (lambda: engine.ref("branch/main"), engine.refs, engine.settings):
        ask()
        assert took(requests) == {"get_unless": 1}


def test_what_is_known_costs_one_request_or_none(repo, requests):
    now = repo.at()
    now.search([1, 0])
    requests.clear()
    assert now["a"].content == 0
    assert len(now.search([1, 0])) == 1
    assert took(requests) == {}
    assert repo.at()["a"].content == 0
    assert took(requests) == {"get_unless": 1}
    engine = repo.blocks.engine
    ids = list(engine.ids())
    requests.clear()
    engine.read(ids)
    engine.read(ids)
    assert took(requests) == {}


def test_a_fresh_process_reads_each_pack_once(repo, url, requests):
    for number in range(5):
        repo.put(f"k/{number}", number)
    requests.clear()
    with mnemosyne_vcs.open(url) as fresh:
        now = fresh.at()
        assert len(list(now.scan())) == 6
        cost = took(requests)
        assert cost["get"] <= 7
        assert cost.keys() <= {"get", "get_unless"}
        assert len(list(now.scan())) == 6
        assert took(requests) == {}


def test_what_others_wrote_costs_its_own_packs(repo, url, requests):
    with mnemosyne_vcs.open(url) as reader:
        list(reader.at().scan())
        repo.put("k", 1)
        requests.clear()
        assert reader.at()["k"].content == 1
        assert took(requests) == {"get_unless": 1, "get": 1}


def test_a_large_pack_is_read_in_parts_that_are_few(repo, url, requests):
    with repo.transaction() as tx:
        for number in range(300):
            tx.put(f"k/{number}", "x" * 2000)
    requests.clear()
    with mnemosyne_vcs.open(url) as fresh:
        assert fresh.at()["k/7"].content == "x" * 2000
        cost = took(requests)
        assert 1 <= cost["get_range"] <= 4
        assert len(list(fresh.at().scan("k/"))) == 300
        assert took(requests)["get_range"] <= 30


def test_a_record_that_is_replaced_is_read_without_its_vectors(repo, url, requests):
    vectors = [[number, *range(1, 400)] for number in range(300)]
    with repo.transaction() as tx:
        for number, vector in enumerate(vectors):
            tx.put(f"many/{number:03}", number, embedding=vector, vectors={"b": vector})
    with mnemosyne_vcs.open(url, author="other") as other:
        assert len(list(other.at())) == 301
        for number in (0, 150, 299):
            took(requests)
            other.put(f"many/{number:03}", -1, embedding=vectors[number], vectors={"b": [number]})
            cost = took(requests)
            assert cost.pop("get_unless", 0) <= 1
            assert cost == {"get_range": 1, "put": 1, "put_if": 1}
        (changed,) = other.diff("main~1", "main")
        assert changed.before.vectors[""].tobytes() == changed.after.vectors[""].tobytes()


def test_what_is_inside_a_transaction_is_put_at_once(repo, requests):
    engine = repo.blocks.engine
    with engine.exclusive():
        assert took(requests).get("put_if") == 1
        for number in range(5):
            data = b"%d" % number
            block = object_id(data)
            engine.write({block: data}, RefUpdate(f"r{number}", None, block))
            assert engine.ref(f"r{number}") == block
            assert dict(engine.read([block])) == {block: data}
        assert took(requests) == {}
    assert took(requests) == {"put": 1, "put_if": 1}
    engine.read([block])
    assert took(requests) == {}


def test_a_refused_write_costs_no_put(repo, requests):
    engine = repo.blocks.engine
    with pytest.raises(mnemosyne_vcs.RefConflictError):
        engine.write({BLOCK: b"data"}, RefUpdate("branch/main", None, BLOCK))
    assert took(requests) == {"get_unless": 1}
