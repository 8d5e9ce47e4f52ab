"""Engines that are not built in: registered, or found by their entry points."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import AlreadyExistsError, EngineError, ValidationError, register_engine
from mnemosyne_vcs.engine import canonical_url, open_engine, registry
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.sqlite.engine import SQLiteEngine
from mnemosyne_vcs.errors import CorruptObjectError, NotFoundError


class Shelf:
    """Opens a SQLite file under a URL of another scheme, and notes how it was called."""

    def __init__(self):
        self.calls = []

    def __call__(self, url, **options):
        self.calls.append((url, options))
        return SQLiteEngine(self.canonical_url(url).partition("://")[2], url=url, **options)

    @staticmethod
    def canonical_url(url):
        return "shelf://" + os.path.abspath(url.partition("://")[2])  # noqa: PTH100


def bare(url, **_):
    return MemoryEngine()


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Forget what a test registers."""
    for name in ("_registered", "_loaded"):
        monkeypatch.setattr(registry, name, {})


@pytest.fixture
def shelf():
    factory = Shelf()
    register_engine("Shelf", factory)
    return factory


def test_a_registered_scheme_opens_with_every_option(shelf, tmp_path):
    url = f"SHELF://{tmp_path}/a"
    with pytest.raises(NotFoundError):
        open_engine(url)
    open_engine(url, create=True, durability="relaxed", busy_timeout=3).close()
    assert open_engine(url, read_only=True).read_only
    assert [options for _, options in shelf.calls] == [
        {"create": False, "read_only": False, "durability": "full", "busy_timeout": 30.0},
        {"create": True, "read_only": False, "durability": "relaxed", "busy_timeout": 3},
        {"create": False, "read_only": True, "durability": "full", "busy_timeout": 30.0},
    ]
    assert {called for called, _ in shelf.calls} == {f"shelf://{tmp_path}/a"}


def test_repositories_clones_and_remotes_take_the_scheme(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mnemosyne_vcs.open("shelf://one", create=True, author="a") as repo:
        repo.put("k", 1)
        assert repo.branches().keys() == {"main"}
    with mnemosyne_vcs.clone("shelf://one", "shelf://two") as copy:
        assert copy.remotes() == {"origin": f"shelf://{tmp_path}/one"}
        commit = copy.put("k", 2)
        monkeypatch.chdir("/")
        copy.push()
        assert copy.add_remote("other", f"shelf://{tmp_path}/three").endswith("/three")
    with mnemosyne_vcs.open(f"shelf://{tmp_path}/one") as repo:
        assert repo.at().commit.id == commit.id
        assert repo.pull(f"shelf://{tmp_path}/two").id == commit.id


def test_a_canonical_url_is_what_the_factory_says_without_a_password(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert canonical_url("Shelf://a") == f"shelf://{tmp_path}/a"
    register_engine("bare", bare)
    url = "BARE://user:secret@host/x?y=1"
    assert canonical_url(url) == "bare://user@host/x?y=1"
    assert canonical_url(url, secrets=True) == "bare://user:secret@host/x?y=1"
    for use in (canonical_url, open_engine):
        with pytest.raises(ValidationError, match="%23"):
            use("bare://host/x#y")


def test_a_canonical_url_that_is_not_one_is_refused():
    def odd(url, **_):
        raise AssertionError

    odd.canonical_url = lambda url: None
    register_engine("odd", odd)
    with pytest.raises(EngineError, match="must be a URL"):
        canonical_url("odd://x")


@pytest.mark.parametrize("scheme", ["memory", "SQLite", "s3", "postgres", "postgresql"])
def test_a_scheme_that_is_built_in_is_not_replaced(scheme):
    with pytest.raises(ValidationError, match="built in"):
        register_engine(scheme, bare)


@pytest.mark.parametrize("scheme", ["", "c", "1a", "a b", "a://", "é1", "a_b", None, 3])
def test_what_is_not_a_scheme_is_refused(scheme):
    with pytest.raises(ValidationError, match="not a valid scheme"):
        register_engine(scheme, bare)


def test_a_factory_is_called_so_that_it_must_be_callable():
    with pytest.raises(ValidationError, match="cannot be called"):
        register_engine("mine", "not a factory")


def test_a_scheme_belongs_to_one_factory(shelf):
    register_engine("shelf", shelf)
    with pytest.raises(AlreadyExistsError, match=r"shelf://.*registered already"):
        register_engine("shelf", bare)


@pytest.mark.parametrize("made", [None, SimpleNamespace(url="x", read=None)])
def test_what_a_factory_returns_must_be_an_engine(made):
    register_engine("odd", lambda url, **_: made)
    with pytest.raises(EngineError, match=r"odd://x.*is not an engine: it has no .*write, close"):
        mnemosyne_vcs.open("odd://x", create=True)


def test_an_unknown_scheme_says_how_one_becomes_known():
    with pytest.raises(ValidationError, match=r"nobody:// is unknown.*register an engine"):
        open_engine("nobody://x")


def test_an_engine_without_a_branch_is_initialised_once():
    engine = MemoryEngine()
    mnemosyne_vcs.initialise(engine)
    repo = mnemosyne_vcs.Repository(engine, author="a")
    commit = repo.put("k", 1)
    mnemosyne_vcs.initialise(engine)
    assert repo.branches() == {"main": commit.id}
    moves = [move for move in repo.reflog() if move.message == "create"]
    assert len(moves) == 1
    assert moves[0].timestamp_ms > 0
    halfway = MemoryEngine()
    halfway.write(engine.read([commit.cid]))
    with pytest.raises(CorruptObjectError):
        mnemosyne_vcs.initialise(halfway)


def distribution(folder: Path, name: str, value: str, code: str, *, scheme: str = "shelf") -> None:
    """Lay a distribution with an entry point into a folder, as an installer does."""
    info = folder / f"{name}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[mnemosyne_vcs.engines]\n{scheme} = {value}\n")
    (folder / f"{name}.py").write_text(code)


PRINTED = 'print("imported", flush=True)\n'
SHELF = f"""
{PRINTED}from mnemosyne_vcs.engine.sqlite.engine import SQLiteEngine
def shelf(url, **options):
    return SQLiteEngine(url.partition("://")[2], url=url, **options)
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_entry_point_is_imported_when_its_scheme_is_used_and_not_before(tmp_path):
    distribution(tmp_path, "shelving", "shelving:shelf", SHELF)
    done = run(
        tmp_path,
        "import sys, mnemosyne_vcs as m\n"
        f"m.open({str(tmp_path / 'plain.mnem')!r}, create=True).put('k', 1)\n"
        "m.open('memory://', create=True).put('k', 1)\n"
        "print('shelving' in sys.modules)\n"
        f"url = 'shelf://{tmp_path}/s'\n"
        "m.open(url, create=True).put('k', 1)\n"
        "print(m.open(url)['k'].content)\n",
    )
    assert done.stdout.split() == ["False", "imported", "1"], done.stderr


def test_mnem_and_the_entry_point(tmp_path):
    distribution(tmp_path, "shelving", "shelving:shelf", SHELF.replace(PRINTED, ""))
    store, copy = (f"shelf://{tmp_path}/{name}" for name in ("one", "two"))
    for arguments in (
        ["init", store],
        ["-s", store, "put", "k", "1"],
        ["clone", store, copy],
        ["-s", copy, "put", "k", "2"],
        ["-s", copy, "push"],
        ["-s", store, "verify"],
    ):
        done = run(tmp_path, f"import sys; sys.argv[1:] = {arguments!r}\n" + MNEM)
        assert done.returncode == 0, done.stderr
    done = run(
        tmp_path, f"import sys; sys.argv[1:] = {['-s', store, '--json', 'show', 'k']!r}\n{MNEM}"
    )
    assert json.loads(done.stdout)["content"] == 2


MNEM = "from mnemosyne_vcs.cli import main\nsys.exit(main())\n"


def refusal(folder: Path) -> str:
    done = run(
        folder,
        "import mnemosyne_vcs as m\n"
        "try:\n    m.open('shelf://x')\n"
        "except m.EngineError as error:\n    print(error)\n",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("broken:shelf", "import nothing_of_the_kind\n", "ModuleNotFoundError: .*nothing_of_the"),
        ("broken:shelf", "raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
        ("broken:other", "shelf = None\n", "AttributeError"),
        ("absent:shelf", "", "ModuleNotFoundError"),
        ("broken:shelf", "shelf = 3\n", "offers no engine.*cannot be called: 3"),
    ],
)
def test_an_entry_point_that_cannot_be_used_names_its_distribution(tmp_path, value, code, said):
    distribution(tmp_path, "broken", value, code)
    message = refusal(tmp_path)
    assert "broken 1.5" in message
    assert "shelf://" in message
    assert re.search(said, message), message


def test_two_distributions_of_one_scheme_are_both_named(tmp_path):
    for name in ("one", "two"):
        distribution(tmp_path, name, f"{name}:shelf", SHELF)
    assert "one 1.5 and two 1.5" in refusal(tmp_path)


def test_what_is_registered_comes_before_entry_points(tmp_path):
    distribution(tmp_path, "broken", "broken:shelf", "raise RuntimeError\n")
    done = run(
        tmp_path,
        "import mnemosyne_vcs as m\n"
        "from mnemosyne_vcs.engine.memory import MemoryEngine\n"
        "m.register_engine('shelf', lambda url, **options: MemoryEngine())\n"
        "print(m.open('shelf://x', create=True).put('k', 1).author)\n",
    )
    assert done.stdout == "unknown\n", done.stderr
