"""Cut wires, killed clients and servers: nothing acknowledged is lost, no outcome is guessed."""

import os
import signal
import socket
import subprocess
import sys
from threading import Event, Thread

import pytest

import mnemosyne_vcs
from children import ENGINE_CHILD
from load import assert_keeps
from mnemosyne_vcs import BusyError, EngineError
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.engine.objectstore import logs, manifest
from mnemosyne_vcs.engine.objectstore.head import Head
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id
from mnemosyne_vcs.testing._children import Child
from objectstore.server import SeaweedFS
from postgres.proxy import Proxy

HASTE = {"timeout": 2, "retry_for": 0.3, "backoff": 0.05}
BLOCK = object_id(b"data")


@pytest.fixture
def proxy(seaweedfs):
    proxy = Proxy(seaweedfs.port)
    yield proxy
    proxy.close()


@pytest.fixture
def far(repo, seaweedfs, folder, proxy):
    """The repository as it is reached by the proxy."""
    url = seaweedfs.url(folder, port=proxy.port, **HASTE)
    with mnemosyne_vcs.open(url, author="far") as repository:
        yield repository


@pytest.fixture
def put_manifest(folder):
    """How the request begins that changes the repository."""
    return f"PUT /agents/{folder}/manifest ".encode()


@pytest.mark.parametrize("lost", ["answer", "request"])
def test_a_commit_that_loses_its_wire_is_found_or_made_again(far, repo, proxy, put_manifest, lost):
    far.put("a", 0)
    for number in range(1, 4):
        proxy.cut(lost, put_manifest)
        commit = far.put("a", number)
        assert proxy.cuts == number
        assert repo.resolve().id == commit.id
    assert [c.message for c in repo.log()] == ["put a"] * 4
    assert repo.verify().ok


def test_a_change_whose_answer_is_lost_while_others_write_is_made_once(
    far, repo, proxy, put_manifest
):
    for number in range(5):
        proxy.cut("answer", put_manifest)
        far.put("far", number, branch="main")
        proxy.cut("request", put_manifest)
        repo.put("near", number)
        far.put("far", -number - 1)
        repo.put("near", -number - 1)
    assert proxy.cuts == 10
    assert [c.message for c in repo.log()] == ["put near", "put far", "put near", "put far"] * 5
    assert repo.verify().ok


def test_a_lost_answer_inside_a_transaction_is_found(far, repo, proxy, put_manifest):
    engine = far.blocks.engine
    for number in range(2):
        proxy.cut("answer", put_manifest)
        with engine.exclusive():
            engine.write({BLOCK: b"data"}, RefUpdate(f"r{number}", None, BLOCK))
            proxy.cut("answer", put_manifest)
    assert proxy.cuts == 4
    assert dict(repo.blocks.engine.refs("r")) == {"r0": BLOCK, "r1": BLOCK}
    assert repo.blocks.engine.read([BLOCK])
    assert len([move for move in repo.blocks.engine.reflog(None) if move.name[0] == "r"]) == 2


@pytest.mark.parametrize("what", ["answer", "request"])
def test_a_cut_at_any_other_request_is_made_good(far, repo, proxy, folder, what):
    for number in range(3):
        for wire in (f"PUT /agents/{folder}/packs/", f"GET /agents/{folder}/manifest"):
            proxy.cut(what, wire.encode())
            far.put("a", number)
            assert far.at()["a"].content == number
    assert proxy.cuts == 6
    assert len(list(repo.log())) == 3
    assert repo.verify().ok


def take_away(proxy):
    proxy._listener.shutdown(socket.SHUT_RDWR)
    proxy.sever()


def test_a_write_that_fails_inside_a_transaction_is_no_part_of_it(far, repo, proxy, monkeypatch):
    """Here it has to fetch a segment of a log to learn what is there already."""
    monkeypatch.setattr(logs, "RECENT_BYTES", 1)
    repo.blocks.engine.write({BLOCK: b"data"})
    engine = far.blocks.engine
    with pytest.raises(EngineError), engine.exclusive():
        take_away(proxy)
        with pytest.raises(EngineError):
            engine.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
        assert engine.ref("r") is None
    assert repo.blocks.engine.ref("r") is None


def test_who_was_idle_for_long_writes_as_ever(url):
    """Though many more changes were made meanwhile than the manifest remembers."""
    idle, busy = open_engine(url, create=True), open_engine(url)
    for number in range(manifest.TOKENS + 10):
        busy.set_setting("n", str(number))
    idle.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    for number in range(manifest.TOKENS + 10):
        busy.set_setting("n", str(number))
    with idle.exclusive():
        idle.set_setting("m", "1")
    assert (busy.ref("r"), dict(busy.settings())) == (BLOCK, {"n": str(number), "m": "1"})


def test_what_cannot_be_told_is_not_guessed(url, monkeypatch):
    """The answer is lost, and others change more than the manifest remembers."""
    monkeypatch.setattr(manifest, "TOKENS", 3)
    engine, others = open_engine(url, create=True), open_engine(url)
    put_if = engine._bucket.put_if

    def unheard(name, data, tag):
        assert put_if(name, data, tag)
        for number in range(3):
            others.set_setting("n", str(number))
        raise EngineError("the answer is lost")

    with monkeypatch.context() as cut:
        cut.setattr(engine._bucket, "put_if", unheard)
        with pytest.raises(EngineError, match="cannot be told; read what you wrote") as caught:
            engine.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    assert type(caught.value) is EngineError
    assert len(list(engine.reflog("r"))) == 1


def test_out_of_reach_is_an_error_that_says_to_try_again(far, repo, proxy, seaweedfs, folder):
    far.put("a", 0)
    take_away(proxy)
    for act in (far.at, lambda: far.put("a", 1), lambda: open_engine(far.url)):
        with pytest.raises(EngineError, match=r"cannot be reached.*try again"):
            act()
    assert [record.content for record in repo.at().scan()] == [0]


@pytest.fixture
def own(keys):
    """A cluster of this test's own."""
    store = SeaweedFS()
    yield store
    store.remove()


def test_servers_killed_under_load_lose_nothing_acknowledged(own):
    url = own.url("load", **HASTE)
    with mnemosyne_vcs.open(url, create=True) as repo:
        repo.put("total", 0)

        def restart(*names):
            for name in names:
                own.programs[name].kill()
            with pytest.raises(EngineError, match="try again") as caught:
                repo.put("between", 1)
            assert type(caught.value) in (EngineError, BusyError)
            for name in names:
                own.programs[name].start()

        told = assert_keeps(url, lambda: restart("volume"), lambda: restart("s3"))
    assert told
    assert all("try again" in line and "\n" not in line for line in told)


@pytest.fixture
def short_term(monkeypatch):
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.deadline.TERM", 0.2)


def test_the_lock_of_a_process_that_died_is_broken(url, short_term):
    engine = open_engine(url, create=True)
    with Child(ENGINE_CHILD, "hold", url) as holder:
        assert holder.line() == "held"
        holder.kill()
    engine.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    with engine.exclusive():
        assert engine.ref("r") == BLOCK
    assert open_engine(url).ref("r") == BLOCK


def test_the_lock_of_a_process_that_lives_is_waited_for(url):
    engine, hasty = open_engine(url, create=True), open_engine(url, busy_timeout=0.1)
    with Child(ENGINE_CHILD, "hold", url) as holder:
        assert holder.line() == "held"
        with pytest.raises(BusyError, match="try again"):
            hasty.write({}, RefUpdate("r", None, BLOCK))
        with pytest.raises(BusyError, match="try again"), hasty.exclusive():
            pass
        assert engine.ref("r") is None
        holder.go()
        engine.write({}, RefUpdate("r", None, BLOCK))
        assert holder.finish() == ["released"]
    assert hasty.ref("r") == BLOCK


def test_a_lock_that_is_held_for_long_is_kept(url, monkeypatch):
    """Others wait for as long as they like to, and then give up."""
    monkeypatch.setattr("mnemosyne_vcs.engine.objectstore.deadline.TERM", 0.8)
    slow, other = open_engine(url, create=True), open_engine(url, busy_timeout=2)
    with slow.exclusive():
        slow.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
        with pytest.raises(BusyError, match="try again"):
            other.write({}, RefUpdate("other", None, BLOCK))
    assert dict(other.refs()) == {"r": BLOCK}
    other.write({}, RefUpdate("other", None, BLOCK))


def test_a_holder_that_stood_still_is_told(url, short_term):
    engine = open_engine(url, create=True)
    with subprocess.Popen(
        [sys.executable, ENGINE_CHILD, "hold", url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        engine.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
        holder.send_signal(signal.SIGCONT)
        said, complained = holder.communicate("go\n")
    assert (said, holder.returncode) == ("", 1)
    assert "BusyError" in complained
    assert engine.ref("r") == BLOCK


@pytest.mark.parametrize("overtaker", ["write", "exclusive"])
def test_who_is_overtaken_is_told_and_changes_nothing(url, short_term, monkeypatch, overtaker):
    monkeypatch.setattr(Head, "_renew", lambda *_: None)  # as if it stood still
    slow, quick = open_engine(url, create=True), open_engine(url)
    other = object_id(b"other")
    with pytest.raises(BusyError, match="try again"), slow.exclusive():
        slow.write({other: b"other"}, RefUpdate("slow", None, other))
        slow.set_setting("slow", "yes")
        if overtaker == "write":
            quick.write({BLOCK: b"data"}, RefUpdate("quick", None, BLOCK))
        else:
            with quick.exclusive():
                quick.write({BLOCK: b"data"}, RefUpdate("quick", None, BLOCK))
    for engine in (slow, quick, open_engine(url)):
        assert dict(engine.refs()) == {"quick": BLOCK}
        assert dict(engine.settings()) == {}
        assert list(engine.ids()) == [BLOCK]
    slow.write({other: b"other"}, RefUpdate("slow", None, other))
    assert quick.ref("slow") == other


def test_an_error_leaves_no_lock_behind(url):
    engine, hasty = open_engine(url, create=True), open_engine(url, busy_timeout=0)
    with pytest.raises(ZeroDivisionError), engine.exclusive():
        raise ZeroDivisionError
    hasty.write({}, RefUpdate("r", None, BLOCK))


def test_a_forked_child_is_refused_and_never_hangs(repo):
    """Even if the parent's threads held every lock at that moment."""
    engine = repo.blocks.engine
    repo.put("a", 1)
    held, done = Event(), Event()

    def hold():
        with engine.exclusive(), engine._places.at(engine._head.known().packs):
            held.set()
            done.wait()

    holder = Thread(target=hold)
    holder.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        calls = (
            lambda: repo.put("child", 1),
            lambda: repo.at()["a"],
            lambda: engine.read([BLOCK]),
            lambda: engine.write({BLOCK: b"data"}),
            engine.refs,
            engine.ids,
            engine.compact,
            lambda: open_engine(repo.url),
        )
        refused = 0
        for call in calls:
            try:
                call()
            except EngineError as error:
                refused += "forked process" in str(error)
        os._exit(0 if refused == len(calls) else 1)
    code = os.waitpid(child, 0)[1]
    done.set()
    holder.join()
    assert code == 0
    assert repo.at()["a"].content == 1
