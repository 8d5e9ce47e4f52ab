"""Cut wires, killed clients and servers: nothing acknowledged is lost, no outcome is guessed."""

import os

import pytest

import mnemosyne_vcs
from load import assert_keeps
from mnemosyne_vcs import EngineError, ReadOnlyError, Repository, tree
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.testing._children import Child
from postgres.server import PASSWORD, Server

PATIENCE = 60
MOVE = b"put a"  # a value of the call, which is not in the message by which it was prepared
END_ALL = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE application_name = 'mnemosyne'"
)


def trips(proxy, act):
    """How many round trips something takes."""
    before = proxy.round_trips
    act()
    return proxy.round_trips - before


def test_a_warm_commit_is_at_most_three_round_trips(far, repo, proxy):
    far._writer.heads._clock = lambda: 0.0  # all of it within one second
    repo.put("theirs", 0)
    far.put("theirs", 1)  # each statement is prepared when it is sent for the first time
    repo.put("a", 0)
    far.put("a", -1)
    assert trips(proxy, lambda: far.put("a", 1)) == 2
    for number in range(2, 6):
        assert trips(proxy, lambda: far.put("a", number)) == 1  # noqa: B023
        assert trips(proxy, lambda: far.put(f"new/{number}", 0)) == 1  # noqa: B023
    assert trips(proxy, lambda: far.transact(lambda tx: tx.put("other", 0))) == 2
    repo.put("theirs", 3)
    assert trips(proxy, lambda: far.put("late", 0)) > 1
    assert trips(proxy, lambda: far.put("later", 0)) == 2
    assert trips(proxy, lambda: far.put("theirs", 2)) == 2
    block = object_id(b"data")
    far.blocks.engine.write({}, RefUpdate("first", None, block))
    update = RefUpdate("second", None, block)
    assert trips(proxy, lambda: far.blocks.engine.write({block: b"data"}, update)) == 1


@pytest.mark.parametrize("vectors", [{}, {"title": [1.0, 2.0]}])
@pytest.mark.parametrize("count", [1, 20, 300])
def test_round_trips_do_not_grow_with_the_records(far, repo, proxy, count, vectors):
    def put(prefix, content):
        with far.transaction() as tx:
            for number in range(count):
                tx.put(f"{prefix}/{number}", content, embedding=[number, 1.0], vectors=vectors)

    put("k", "old")
    far.put("k/0", "other")
    for content in ("new", "newer"):
        far.blocks.renew()
        list(far.at())  # the nodes of the tree are known, the records are not
        far.blocks.engine.read([far.resolve().cid])  # what one record is asked with is prepared
        assert trips(proxy, lambda: put("k", content)) == 3  # noqa: B023
        assert trips(proxy, lambda: put(content, 0)) == 2  # noqa: B023
    assert {record.content for record in repo.at().scan("k/")} == {"newer"}
    if count < 100:  # as many as are kept
        assert trips(proxy, lambda: put("k", "known")) == 2


@pytest.mark.parametrize("lost", ["answer", "request"])
@pytest.mark.parametrize("prepared", [True, False])
def test_a_question_for_what_is_replaced_is_asked_again(far, repo, proxy, lost, prepared):
    repo.put("a", 0)
    repo.put("b", 0)
    far.put("a", 1)
    if not prepared:
        proxy.sever()  # a new connection prepares anew
    record = tree.get(repo.blocks.node, repo.at().root, "b")
    proxy.cut(lost, record if prepared else b"mnemosyne.objects")
    commit = far.put("b", 1)
    assert proxy.cuts == 1
    assert repo.resolve().id == commit.id
    assert repo.verify().ok


def test_a_commit_whose_answer_is_lost_is_found(far, repo, proxy):
    far.put("a", 0)
    for number in range(1, 4):
        proxy.cut("answer", MOVE)
        commit = far.put("a", number)
        assert proxy.cuts == number
        assert repo.resolve().id == commit.id
    assert [c.message for c in repo.log()][:4] == ["put a"] * 4
    assert len(list(repo.log())) == 4
    assert repo.verify().ok


def test_a_commit_that_never_arrives_raises_and_changes_nothing(far, repo, proxy):
    head = far.put("a", 0).id
    proxy.cut("request", MOVE)
    with pytest.raises(EngineError, match="try again"):
        far.put("a", 1)
    assert proxy.cuts == 1
    assert repo.resolve().id == head
    far.put("a", 2)
    assert repo.at()["a"].content == 2


def test_a_read_whose_answer_is_lost_is_asked_again(far, proxy):
    far.put("a", 0)
    proxy.cut("answer", b"branch/main")
    assert far.at()["a"].content == 0
    assert proxy.cuts == 1


def test_a_transaction_that_loses_its_wire_is_undone(far, repo, proxy):
    engine = far.blocks.engine
    block = object_id(b"data")
    with pytest.raises(EngineError), engine.exclusive():
        engine.write({block: b"data"}, RefUpdate("r", None, block))
        proxy.cut("request", b"SELECT target")
        engine.ref("r")
    assert proxy.cuts == 1
    assert repo.blocks.engine.ref("r") is None
    assert not repo.blocks.engine.read([block])
    with engine.exclusive():
        engine.write({}, RefUpdate("r", None, block))
    assert repo.blocks.engine.ref("r") == block


def test_connections_that_the_server_ended_are_replaced_before_use(server, repo):
    repo.put("a", 0)
    for number in range(1, 4):
        server.execute("mnemosyne", END_ALL)
        repo.put("a", number)
    assert len(list(repo.log())) == 4


@pytest.fixture
def servers(monkeypatch):
    """Starts servers of this test's own."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    made = []

    def start(**options):
        made.append(Server(**options))
        made[-1].start()
        return made[-1]

    yield start
    for server in made:
        server.remove()


def test_a_server_killed_under_load_loses_nothing_acknowledged(servers):
    server = servers()
    server.execute("postgres", "CREATE DATABASE mnemosyne")
    url = server.url("load")
    with mnemosyne_vcs.open(url, create=True) as repo:
        repo.put("total", 0)

    def restart():
        server.kill()
        server.start()

    assert_keeps(url, restart, restart)


def test_a_failover_to_a_synchronous_standby_loses_nothing_acknowledged(servers):
    primary = servers()
    primary.execute("postgres", "CREATE DATABASE mnemosyne")
    with mnemosyne_vcs.open(primary.url("load"), create=True) as repo:
        repo.put("total", 0)
    standby = servers(standby_of=primary)
    with pytest.raises(ReadOnlyError, match="standby"):
        mnemosyne_vcs.open(standby.url("load"))
    with mnemosyne_vcs.open(standby.url("load"), read_only=True) as follower:
        assert follower.at()["total"].content == 0
    primary.execute("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.execute("postgres", "SELECT pg_reload_conf()")
    while primary.execute("postgres", "SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
        pass

    def fail_over():
        primary.kill()
        standby.execute("postgres", "SELECT pg_promote()")

    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    both = primary.url("load").replace(f"127.0.0.1:{primary.port}", hosts)
    assert_keeps(f"{both}&target_session_attrs=read-write", fail_over)


def test_a_forked_child_makes_connections_of_its_own(repo):
    repo.put("a", 0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            repo.put("child", repo.at()["a"].content)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert repo.at()["child"].content == 0
    repo.put("a", 1)
    assert repo.at()["a"].content == 1


def test_a_child_forked_inside_a_transaction_leaves_it_to_its_parent(repo):
    engine = repo.blocks.engine
    block = object_id(b"data")
    with engine.exclusive():
        engine.write({}, RefUpdate("r", None, block))
        child = os.fork()
        if child == 0:
            try:
                engine.ref("r")
            except EngineError as error:
                os._exit(0 if "forked inside a transaction" in str(error) else 2)
            finally:
                os._exit(3)
        assert os.waitpid(child, 0)[1] == 0
        engine.write({}, RefUpdate("s", None, block))
    assert dict(engine.refs("r")) | dict(engine.refs("s")) == {"r": block, "s": block}


def test_no_transaction_leaves_locks_or_settings_in_a_session(server, repo):
    """So that a pooler may lend each transaction another connection."""
    Repository(repo.blocks.engine).put("a", 0)
    repo.transact(lambda tx: tx.put("a", tx["a"].content + 1))
    engine = open_engine(repo.url)
    with engine.exclusive():
        engine.ref("r")
    with engine._connections.lend() as connection:
        locks = connection.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        ).fetchall()
        kept = connection.execute("SELECT current_setting('lock_timeout')").fetchall()
    assert (locks, kept) == ([], [("0",)])
    engine.close()


def test_a_connection_that_is_lost_prints_nothing(far, proxy, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, mnemosyne_vcs\n"
        "sys.stderr = sys.stdout\n"
        "engine = mnemosyne_vcs.open(sys.argv[1]).blocks.engine\n"
        "try:\n"
        "    with engine.exclusive():\n"
        "        print('inside', flush=True)\n"
        "        sys.stdin.readline()\n"
        "        engine.write({bytes(36): b''})\n"
        "except mnemosyne_vcs.EngineError: print('lost')\n"
    )
    with Child(program, far.url) as child:
        assert child.line() == "inside"
        proxy.sever()
        child.go()
        assert child.finish() == ["lost"]
