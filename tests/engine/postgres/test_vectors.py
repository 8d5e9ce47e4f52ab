"""Vectors that the server searches: always the same answers as those of vectors that are loaded."""

import numpy as np
import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import (
    CorruptObjectError,
    DimensionError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
    Repository,
)
from mnemosyne_vcs.cli.app import mnem
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.refs import initialise
from mnemosyne_vcs.testing import FaultyEngine
from mnemosyne_vcs.testing._children import STORE_CHILD, Child
from mnemosyne_vcs.views.keys import Selection
from mnemosyne_vcs.views.server_search import find_index
from postgres.server import PASSWORD

KEYS = [f"{top}/{number}" for top in ("a", "a/b", "é") for number in range(8)]
NAMES = ["", "title"]
DIMENSIONS = [3, 5]


@pytest.fixture
def indexed(repo):
    repo.create_vector_index()
    return repo


class Numbers:
    """Random vectors among which many are equal, nearly equal, scaled, zero or extreme."""

    def __init__(self, rng):
        self.rng = rng
        self.pool = {dimension: [] for dimension in DIMENSIONS}

    def vector(self):
        rng, dimension = self.rng, self.rng.choice(DIMENSIONS, p=[0.8, 0.2])
        pool = self.pool[dimension]
        fresh = rng.standard_normal(dimension)
        other = pool[rng.integers(len(pool))].astype(np.float64) if pool else fresh
        kinds = [
            fresh,
            other,
            other * (1 + 1e-7 * rng.standard_normal(dimension)),
            other * rng.choice([0.25, 3.0, -1.0]),
            np.zeros(dimension),
            fresh * rng.choice([1e-44, 1e-30, 1e30, 1e37]),
        ]
        with np.errstate(over="ignore", under="ignore"):
            single = kinds[rng.choice(6, p=[0.3, 0.2, 0.25, 0.1, 0.05, 0.1])].astype(np.float32)
        pool.append(single if np.isfinite(single).all() else np.zeros(dimension, np.float32))
        return pool[-1]

    def vectors(self):
        return {name: self.vector() for name in NAMES if self.rng.random() < 0.7}


class Story:
    """Random acts on the branch `main` of a repository, which is indexed, and on another branch."""

    def __init__(self, repo, rng):
        self.repo, self.rng, self.numbers = repo, rng, Numbers(rng)
        with repo.transaction() as tx:
            for key in rng.choice(KEYS, 12, replace=False):
                tx.put(str(key), int(rng.integers(3)), vectors=self.numbers.vectors())
        repo.create_branch("other")

    def step(self):
        acts = [self.write, self.write_elsewhere, self.merge, self.forward, self.push, self.undo]
        acts.append(self.again)
        self.rng.choice(acts, p=[0.4, 0.15, 0.15, 0.1, 0.05, 0.1, 0.05])()

    def write(self, branch="main"):
        with self.repo.transaction(branch) as tx:
            for _ in range(self.rng.integers(1, 6)):
                self.edit(tx)

    def edit(self, tx):
        rng, present = self.rng, list(tx.scan_keys())
        act = rng.choice(["put", "keep", "move", "delete"], p=[0.5, 0.2, 0.15, 0.15])
        key = str(rng.choice(present)) if present else None
        if act == "put" or key is None:
            key, content = str(rng.choice(KEYS)), int(rng.integers(3))
            tx.put(key, content, vectors=self.numbers.vectors())
        elif act == "keep":
            tx.put(key, int(rng.integers(100)), vectors=dict(tx[key].vectors))
        elif act == "delete":
            tx.delete(key)
        elif free := sorted(set(KEYS) - set(present)):
            tx.move(key, str(rng.choice(free)))

    def write_elsewhere(self):
        self.write("other")

    def merge(self):
        self.repo.merge("other", on_conflict="theirs", allow_mixed_vectors=True)

    def forward(self):
        self.repo.merge("main", into="other", on_conflict="theirs", allow_mixed_vectors=True)
        self.write("other")
        self.repo.merge("other", fast_forward=True, allow_mixed_vectors=True)

    def push(self):
        with mnemosyne_vcs.clone(self.repo.url, "memory://", author="far") as copy:
            for _ in range(3):
                copy.transact(self.edit)
            copy.push()

    def undo(self):
        if len(list(self.repo.log())) > 3:
            self.repo.undo(2, allow_mixed_vectors=True)

    def again(self):
        """Delete the branch and make it again from the other one."""
        self.repo.delete_branch("main")
        assert self.repo.vector_indexes() == {}
        self.repo.create_branch("main", revision="other")
        assert self.repo.vector_indexes() == {}
        self.repo.create_vector_index()

    def question(self):
        """What to ask two snapshots of the same memory, as a function that loads no vectors."""
        rng = self.rng
        query, chosen = self.numbers.vector(), rng.random(len(KEYS)) < 0.5
        filters = {
            "prefix": ["", "", "a", "a/", "a/b/", "é", "none", "a\0", "\ud7ff", "\uffff"][
                rng.integers(10)
            ],
            "where": [None, None, lambda record: record.content != 1][rng.integers(3)],
            "within": [None, Selection(sorted(KEYS), chosen)][rng.integers(2)],
            "limit": [0, 1, 2, 5, 30, 2**63][rng.integers(6)],
            "min_score": float(rng.choice([-1.0, 0.0, 0.5, 1.0])),
            "vector": [*NAMES, "", "none"][rng.integers(4)],
        }

        def ask(snapshot):
            try:
                hits = snapshot.search(query, **filters)
            except DimensionError as error:
                return str(error)
            return [(hit.record.key, hit.record.content, hit.score) for hit in hits]

        return ask


def rows_of(server, repo):
    """What the index of `main` holds, and what it should."""
    found = server.execute(
        "mnemosyne",
        "SELECT key, v.name, vector FROM mnemosyne.vectors AS v "
        "JOIN mnemosyne.vector_indexes AS i ON i.id = branch "
        "JOIN mnemosyne.repositories AS r ON r.id = v.repository "
        f"WHERE r.name = '{repo.url.partition('repository=')[2]}'",
    )
    expected = [
        (record.key, name.encode(), block)
        for record in repo.at().scan()
        for name, block in record.vectors.ids.items()
    ]
    return sorted(found), sorted(expected)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_both_paths_give_the_same_answers(new_url, seed):
    rng = np.random.default_rng(seed)
    url = new_url()
    with (
        mnemosyne_vcs.open(url, create=True, author="tester") as repo,
        mnemosyne_vcs.open(url, read_only=True) as loading,
        mnemosyne_vcs.open(url, read_only=True) as asking,
    ):
        story = Story(repo, rng)
        repo.create_vector_index()
        for _ in range(6):
            story.step()
            newest = [commit.id for commit in repo.log()]
            for revision in ("main", "other", newest[0], newest[min(3, len(newest) - 1)]):
                for _ in range(4):
                    ask, snapshot = story.question(), loading.at(revision)
                    for name in NAMES:
                        snapshot.vectors(name)
                    expected = ask(snapshot)
                    assert ask(asking.at(revision)) == expected
                    assert ask(repo.at(revision)) == expected
        assert asking._views.nbytes() == repo._views.nbytes() == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_index_holds_just_the_vectors_of_the_newest_commit(server, repo, seed):
    story = Story(repo, np.random.default_rng(seed))
    repo.create_vector_index()
    for number in range(8):
        story.step()
        if not repo.vector_indexes()["main"]:  # after a move of the ref alone
            repo.put("a/0", f"text {number}")
        assert repo.vector_indexes() == {"main": True}
        found, expected = rows_of(server, repo)
        assert found == expected


def test_commits_carry_the_index_in_their_own_round_trip(server, repo, far, proxy):
    def cost(number):
        """The round trips of a new record, one in place of it, and one that keeps the vector."""
        counts = []
        for content, vector in ((0, [1, 2]), (1, [number, 2]), (2, [number, 2])):
            before = proxy.round_trips
            far.put(f"new/{number}", content, embedding=vector)
            counts.append(proxy.round_trips - before)
        return counts

    far.put("warm", 1)
    far.put("warm", 2)
    plain = [cost(number) for number in range(5)]
    repo.create_vector_index()
    far.at()
    far.put("warm", 3)
    assert [cost(number) for number in range(5, 10)] == plain
    assert repo.vector_indexes() == {"main": True}
    found, expected = rows_of(server, repo)
    assert found == expected


def test_a_commit_whose_answer_is_lost_has_moved_the_index_too(indexed, far, proxy):
    far.put("a", 0, embedding=[1, 0])
    proxy.cut("answer", b"put a")
    far.put("a", 1, embedding=[0, 1])
    proxy.cut("request", b"put a")
    with pytest.raises(EngineError):
        far.put("a", 2, embedding=[1, 1])
    assert proxy.cuts == 2
    assert indexed.vector_indexes() == {"main": True}
    assert indexed.at().search([0, 1])[0].score == 1.0


def fill(repo, count, branch="main", start=0):
    rng = np.random.default_rng(start)
    with repo.transaction(branch) as tx:
        for number in range(start, start + count):
            tx.put(f"k/{number:05}", number, embedding=rng.standard_normal(4))


def test_many_vectors_at_once_and_filters_that_few_pass(server, repo, opened):
    fill(repo, 1300)
    repo.create_vector_index()
    fill(repo, 1300, start=1000)
    assert repo.vector_indexes() == {"main": True}
    assert rows_of(server, repo)[0] == rows_of(server, repo)[1]
    loading = opened(repo.url).at()
    loading.vectors()
    keys = list(repo.at())
    within = Selection(keys, np.arange(len(keys)) % 2 == 0)
    for filters, count in (
        ({}, 2300),
        ({"where": lambda record: record.content % 97 == 0}, 24),
        ({"within": within}, 1150),
        ({"within": within, "where": lambda record: record.content % 97 == 0}, 12),
    ):
        for limit in (10, 3000):
            expected = loading.search([1, 2, 3, 4], limit=limit, **filters)
            found = repo.at().search([1, 2, 3, 4], limit=limit, **filters)
            assert [(hit.record.key, hit.score) for hit in found] == [
                (hit.record.key, hit.score) for hit in expected
            ]
            assert len(found) == min(limit, count)
    assert repo._views.nbytes() == 0


def test_searching_brings_along_what_a_push_has_moved(repo, opened, monkeypatch):
    monkeypatch.setattr("mnemosyne_vcs.views.server_search.MOST_BEHIND", 2)
    monkeypatch.setattr("mnemosyne_vcs.views.server_index.MOST_BEHIND", 2)
    fill(repo, 10)
    repo.create_vector_index()
    with mnemosyne_vcs.clone(repo.url, "memory://") as copy:
        fill(copy, 10, start=10)
        copy.push()
    reader = opened(repo.url, read_only=True)
    assert len(reader.at().search([1, 1, 1, 1])) == 10
    assert reader._views.nbytes() > 0
    assert repo.vector_indexes() == {"main": False}
    repo.put("later", 1, embedding=[1, 1, 1, 2])
    assert repo.vector_indexes() == {"main": False}
    expected = opened(repo.url, read_only=True).at().search([1, 1, 1, 1])
    found = repo.at().search([1, 1, 1, 1])
    assert [(hit.record.key, hit.score) for hit in found] == [
        (hit.record.key, hit.score) for hit in expected
    ]
    assert repo.vector_indexes() == {"main": True}
    assert repo._views.nbytes() == 0


def test_a_search_goes_without_what_it_cannot_bring_along(url, opened):
    opened(url, create=True)
    engine = FaultyEngine(open_engine(url), calls=["move_vector_index"])
    with Repository(engine, author="tester") as repo:
        repo.create_vector_index()
        with mnemosyne_vcs.clone(url, "memory://") as copy:
            copy.put("a", 1, embedding=[1, 0])
            copy.push()
        for fault, current in (("before", False), ("after", True)):
            engine.schedule(fault)
            assert repo.at().search([1, 0])[0].record.key == "a"
            assert repo.vector_indexes() == {"main": current}
        assert len(engine.failed) == 2


def test_an_index_that_moves_on_is_not_used(repo):
    repo.put("a", 1, embedding=[1, 0])
    repo.create_vector_index()
    before = repo.at()
    index = find_index(repo.blocks, before.root, before.commit.cid, "")
    assert index.search(np.array([1, 0], np.float32), min_score=-1.0) == [("a", 1.0)]
    assert index.dimensions() == {2}
    repo.put("a", 2, embedding=[0, 1])
    assert index.search(np.array([1, 0], np.float32), min_score=-1.0) is None
    assert index.dimensions() is None
    assert before.search([1, 0])[0].score == 1.0
    assert repo.at().search([1, 0])[0].score == 0.0


def test_nobody_waits_for_who_moves_the_index(server, indexed):
    with psycopg.connect(server.dsn("mnemosyne"), password=PASSWORD) as other:
        other.execute("SELECT FROM mnemosyne.vector_indexes FOR UPDATE")
        indexed.put("a", 1, embedding=[1, 0])
        assert indexed.at().search([1, 0])[0].record.content == 1
        assert indexed.vector_indexes() == {"main": False}
    indexed.create_vector_index()
    assert indexed.vector_indexes() == {"main": True}


def test_what_fails_on_the_way_leaves_the_index_where_it_was(server, repo, opened):
    fill(repo, 600)
    block = repo.at()["k/00599"].vectors.ids[""]
    damage = "UPDATE mnemosyne.objects SET data = data || {} WHERE id = '\\x{}'"
    server.execute("mnemosyne", damage.format("'\\x00'", block.hex()))
    fresh = opened(repo.url)
    with pytest.raises(CorruptObjectError):
        fresh.create_vector_index()
    assert fresh.vector_indexes() == {"main": False}
    assert rows_of(server, fresh)[0] == []
    with pytest.raises(CorruptObjectError):
        fresh.at().search([1, 2, 3, 4])
    fresh.put("later", 1)
    fresh.delete("k/00599")
    fresh.create_vector_index()
    assert rows_of(server, fresh)[0] == rows_of(server, fresh)[1]


def test_vectors_beyond_what_pgvector_holds_are_loaded(indexed):
    long = np.ones(16_001, np.float32)
    indexed.put("long", 1, embedding=long)
    indexed.put("short", 1, embedding=long[:16_000])
    assert indexed.vector_indexes() == {"main": True}
    assert indexed.at().dimensions() == [16_000, 16_001]
    assert [hit.record.key for hit in indexed.at().search(long[:16_000])] == ["short"]
    assert indexed._views.nbytes() == 0
    assert [hit.record.key for hit in indexed.at().search(long)] == ["long"]


def test_the_longest_keys_and_names(server, indexed):
    stem = "".join(chr(0x4E00 + number) for number in range(1300))
    for key in (stem + "a" * 190, stem + "b" * 190):
        indexed.put(key, 1, vectors={"n\0" * 3000: [1, 2]})
    indexed.put(stem + "b" * 190, 2, vectors={"n\0" * 3000: [2, 1]})
    hits = indexed.at().search([1, 2], prefix=stem, vector="n\0" * 3000)
    assert [hit.record.content for hit in hits] == [1, 2]
    hits = indexed.at().search([1, 2], prefix=stem + "b", vector="n\0" * 3000)
    assert [hit.record.content for hit in hits] == [2]
    assert rows_of(server, indexed)[0] == rows_of(server, indexed)[1]
    assert indexed._views.nbytes() == 0


def test_writers_readers_and_killed_writers_leave_it_whole(server, repo):
    repo.put("total", 0)
    repo.create_vector_index()
    writers = [Child(STORE_CHILD, "save", repo.url, f"w{n}", 25) for n in range(3)]
    doomed = Child(STORE_CHILD, "save", repo.url, "doomed", 1000)
    reader = Child(STORE_CHILD, "read", repo.url, "reader", 40)
    children = [*writers, doomed, reader]
    for child in children:
        assert child.line() == "ready"
    for child in children:
        child.go()
    for _ in range(10):
        assert doomed.line()
    doomed.kill()
    for child in (*writers, reader):
        child.finish()
    repo.create_vector_index()
    assert repo.vector_indexes() == {"main": True}
    found, expected = rows_of(server, repo)
    assert found == expected
    assert repo.verify().ok
    total = repo.at()["total"].content
    assert len(repo.at().search([1, 0], limit=10_000)) == total


def test_turning_it_on_and_off(repo, opened):
    repo.create_vector_index()
    repo.create_vector_index()
    repo.put("a", 1, embedding=[1, 0])
    reader = opened(repo.url, read_only=True)
    assert reader.vector_indexes() == {"main": True}
    repo.gc()
    assert repo.at().search([1, 0])[0].record.key == "a"
    repo.drop_vector_index()
    assert repo.vector_indexes() == {}
    with pytest.raises(NotFoundError, match="no index"):
        repo.drop_vector_index()
    with pytest.raises(NotFoundError, match="no branch"):
        repo.create_vector_index("nope")
    assert repo.at().search([1, 0])[0].record.key == "a"
    for act in (reader.create_vector_index, reader.drop_vector_index):
        with pytest.raises(ReadOnlyError):
            act()


def test_a_fault_of_the_index_is_a_fault_of_the_search(url):
    engine = FaultyEngine(open_engine(url, create=True), calls=["nearest_vectors"])
    with Repository(engine, author="tester") as repo:
        initialise(repo.blocks.engine, when=0)
        repo.put("a", 1, embedding=[1, 0])
        repo.create_vector_index()
        engine.schedule("before")
        with pytest.raises(EngineError, match="nearest_vectors"):
            repo.at().search([1, 0])
        assert repo.at().search([1, 0])[0].record.key == "a"
        assert repo.at().dimensions() == [2]
        repo.drop_vector_index()


def test_other_engines_say_that_they_cannot():
    with mnemosyne_vcs.open("memory://", create=True) as repo:
        assert repo.vector_indexes() == {}
        for act in (repo.create_vector_index, repo.drop_vector_index):
            with pytest.raises(EngineError, match="pgvector"):
                act()


def test_a_server_without_pgvector_says_so(server):
    server.execute("postgres", "CREATE DATABASE plain")
    server.execute("postgres", "ALTER DATABASE plain SET extension_control_path = '/nowhere'")
    with mnemosyne_vcs.open(server.url("r", "plain"), create=True) as repo:
        repo.put("a", 1, embedding=[1, 0])
        with pytest.raises(EngineError, match="no extension 'vector'; install pgvector"):
            repo.create_vector_index()
        assert repo.vector_indexes() == {}
        assert repo.at().search([1, 0])[0].score == 1.0


def test_who_may_not_bring_the_extension_is_told_what_to_do(server):
    server.execute("postgres", "CREATE DATABASE strict")
    mnemosyne_vcs.open(server.url("r", "strict"), create=True).close()
    server.execute(
        "strict",
        f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'; GRANT USAGE ON SCHEMA mnemosyne TO clerk; "
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mnemosyne TO clerk",
    )
    url = server.url("r", "strict").replace("postgres@", "clerk@")
    with mnemosyne_vcs.open(url) as clerk, mnemosyne_vcs.open(server.url("r", "strict")) as owner:
        with pytest.raises(EngineError, match=r"permission denied.*superuser"):
            clerk.create_vector_index()
        owner.create_branch("x")
        owner.create_vector_index("x")
        clerk.create_vector_index()
        clerk.put("a", 1, embedding=[1, 0])
        assert owner.vector_indexes() == {"main": True, "x": True}


def test_an_extension_in_another_schema_that_comes_and_goes(server):
    server.execute("postgres", "CREATE DATABASE moved")
    server.execute(
        "moved", 'CREATE SCHEMA "My ""schema"; CREATE EXTENSION vector SCHEMA "My ""schema"'
    )
    with mnemosyne_vcs.open(server.url("r", "moved"), create=True) as repo:
        repo.put("a", 1, embedding=[1, 0])
        repo.create_vector_index()
        assert repo.at().search([1, 0])[0].score == 1.0
        server.execute("moved", "DROP EXTENSION vector CASCADE")
        repo.create_vector_index()
        repo.put("b", 1, embedding=[0, 1])
        assert [hit.score for hit in repo.at().search([1, 0])] == [1.0, 0.0]
        assert repo._views.nbytes() == 0


def test_crewai_searches_through_the_index(repo, opened):
    types = pytest.importorskip("crewai.memory.types")
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError

    from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend

    backend = MnemosyneStorageBackend(repo)
    assert backend.search([1.0, 0.0]) == []
    texts = [("a", [1.0, 0.0]), ("b", [3.0, 4.0])]
    backend.save([types.MemoryRecord(content=text, embedding=floats) for text, floats in texts])
    repo.create_vector_index()
    reader = opened(repo.url, read_only=True)
    found = MnemosyneStorageBackend(reader).search([1.0, 0.0], min_score=0.5)
    assert [(record.content, record.embedding) for record, _ in found] == texts
    assert reader._views.nbytes() == 0
    with pytest.raises(EmbeddingDimensionMismatchError):
        MnemosyneStorageBackend(reader).search([1.0, 0.0, 0.0])
    assert reader._views.nbytes() == 0


def test_the_verb(repo):
    def run(*arguments):
        result = CliRunner().invoke(mnem, ["-s", repo.url, *arguments])
        return result.exit_code, result.output

    assert "no branch is indexed" in run("index")[1]
    assert run("index", "main") == (0, "the vectors of main are indexed\n")
    assert run("index") == (0, "main  at the newest commit\n")
    assert run("index", "--json")[1] == '{"branch": "main", "indexed": true, "current": true}\n'
    assert run("index", "nope")[0] == 3
    assert run("index", "-d")[0] == 2
    assert run("index", "main", "--json")[1] == '{"branch": "main", "indexed": true}\n'
    assert run("index", "-d", "main") == (0, "the vectors of main are not indexed any more\n")
    assert run("index", "-d", "main")[0] == 3


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM mnemosyne.vectors WHERE key = 'k/3' AND name = ''",
        "UPDATE mnemosyne.vectors SET key = 'k/99' WHERE key = 'k/3' AND name = 'title'",
        "UPDATE mnemosyne.vectors SET vector = '\\x0155' WHERE key = 'k/3' AND name = ''",
        "UPDATE mnemosyne.vectors SET direction = '[0.6, 0.8, 0]' WHERE key = 'k/3' AND name = ''",
        "INSERT INTO mnemosyne.vectors SELECT repository, branch, 'more', name, vector, dimension, "
        "direction FROM mnemosyne.vectors WHERE key = 'k/3' AND name = ''",
        "INSERT INTO mnemosyne.vectors SELECT repository, branch, 'more', name, vector, 2, "
        "'[0, 1]' FROM mnemosyne.vectors WHERE key = 'k/3' AND name = ''",
    ],
)
def test_verify_compares_the_index_with_the_records(server, repo, damage):
    numbers = Numbers(np.random.default_rng(7))
    with repo.transaction() as tx:
        for number in range(20):
            fresh = np.random.default_rng(number).standard_normal(3)
            tx.put(f"k/{number}", number, vectors={"": fresh, "title": numbers.vector()})
    repo.create_vector_index()
    assert repo.verify().ok
    server.execute("mnemosyne", damage)
    [problem] = repo.verify().problems
    assert (problem.object, problem.kind) == ("", "index")
    assert "`mnem index -d main`" in problem.message
    repo.drop_vector_index()
    repo.create_vector_index()
    assert repo.verify().ok


@pytest.mark.parametrize("seed", range(4))
def test_verify_finds_nothing_wrong_with_any_index(repo, seed):
    story = Story(repo, np.random.default_rng(seed))
    repo.create_vector_index()
    for _ in range(8):
        story.step()
        assert repo.verify().ok
