"""Which store a PostgreSQL URL opens, and what is said of one that cannot be opened or written."""

import subprocess
import sys
import threading
from itertools import count

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import BusyError, EngineError, NotFoundError, ReadOnlyError, ValidationError
from mnemosyne_vcs.engine import canonical_url, open_engine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import object_id
from postgres.server import PASSWORD, free_port

BLOCK = object_id(b"data")
_numbers = count()


@pytest.fixture
def database(server):
    """The name of an empty database."""
    name = f"open{next(_numbers)}"
    server.execute("postgres", f"CREATE DATABASE {name}")
    yield name
    server.execute("postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("postgres://h/d?repository=r", "postgresql://h/d?repository=r"),
        ("POSTGRESQL://u:pw@H:1,h2:2/d?repository=r", "postgresql://u@h:1,h2:2/d?repository=r"),
        (
            "postgresql://u@h/d?sslmode=require&repository=a%20b&connect_timeout=3&password=pw",
            "postgresql://u@h/d?repository=a%20b&connect_timeout=3&sslmode=require",
        ),
        (
            "postgresql://u%40x:p%3Aw@[::1]/d%20e?repository=é",
            "postgresql://u%40x@[::1]/d%20e?repository=%C3%A9",
        ),
        ("postgresql:///d?repository=r&host=/run", "postgresql:///d?repository=r&host=%2Frun"),
    ],
)
def test_the_canonical_url_has_one_form_and_no_password(url, canonical):
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical
    assert canonical_url(url, secrets=True) == url


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("", "names no repository"),
        ("?repository=", "not a valid repository name"),
        ("?repository=a&repository=b", "more than one"),
        (f"?repository={'x' * 201}", "not a valid repository name"),
        ("?repository=a%00b", "not a valid repository name"),
        ("?repository", "NAME=VALUE"),
        ("?repository=r#x", "fragment"),
        ("?repository=r&nonsense=1", "nonsense"),
    ],
)
def test_a_url_that_is_none_is_refused_without_telling_the_password(tail, said):
    with pytest.raises(ValidationError, match=said) as caught:
        open_engine(f"postgresql://me:s3cret@127.0.0.1:1/d{tail}")
    assert "s3cret" not in str(caught.value)


def test_a_password_in_the_url_is_used_and_not_shown(server, url, monkeypatch):
    monkeypatch.delenv("PGPASSWORD")
    engine = open_engine(url.replace("postgres@", f"postgres:{PASSWORD}@"), create=True)
    assert engine.url == canonical_url(url)
    assert PASSWORD not in repr(engine._connections) + engine.url
    engine.close()
    assert engine.ref("r") is None
    engine.close()
    for wrong in (url, url.replace("postgres@", "postgres:wrong@")):
        with pytest.raises(EngineError, match="password") as caught:
            open_engine(wrong)
        assert type(caught.value) is EngineError
        assert "\n" not in str(caught.value)


def test_several_hosts_are_tried_in_turn(server, url):
    several = url.replace("127.0.0.1:", f"127.0.0.1:{free_port()},127.0.0.1:")
    engine = open_engine(several + "&target_session_attrs=read-write", create=True)
    engine.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    assert engine.ref("r") == BLOCK
    engine.close()


def test_what_is_missing_is_named(server, database):
    with pytest.raises(NotFoundError, match=r'"nowhere" does not exist.*createdb'):
        open_engine(server.url("r", "nowhere"), create=True)
    with pytest.raises(NotFoundError, match="no schema 'mnemosyne'"):
        open_engine(server.url("r", database))
    mnemosyne_vcs.open(server.url("r", database), create=True).close()
    with pytest.raises(NotFoundError, match="no repository 'other'"):
        open_engine(server.url("other", database))
    with pytest.raises(NotFoundError, match="no repository 'other'"):
        open_engine(server.url("other", database), create=True, read_only=True)
    port = free_port()
    with pytest.raises(EngineError, match=f"{port}.*check host and port"):
        open_engine(server.url("r", port=port))


def test_tables_that_vanish_are_an_error(server, database):
    repo = mnemosyne_vcs.open(server.url("r", database), create=True)
    server.execute(database, "DROP SCHEMA mnemosyne CASCADE")
    with pytest.raises(NotFoundError, match="tables are gone"):
        repo.put("a", 1)
    repo.close()


def test_another_encoding_is_refused(server, database):
    server.execute(
        "postgres", f"CREATE DATABASE {database}_latin ENCODING 'LATIN1' TEMPLATE template0"
    )
    with pytest.raises(EngineError, match="LATIN1"):
        open_engine(server.url("r", f"{database}_latin"), create=True)


def test_a_server_that_is_read_only(server, database):
    url = server.url("r", database)
    repo = mnemosyne_vcs.open(url, create=True)
    repo.put("a", 1)
    server.execute("postgres", f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    repo.close()
    with pytest.raises(ReadOnlyError, match="target_session_attrs"):
        repo.put("a", 2)
    repo.close()
    with pytest.raises(ReadOnlyError, match="read_only=True"):
        mnemosyne_vcs.open(url)
    with mnemosyne_vcs.open(url, read_only=True) as reader:
        assert reader.at()["a"].content == 1


def test_a_user_without_the_right_to_write(server, database):
    mnemosyne_vcs.open(server.url("r", database), create=True).close()
    server.execute("postgres", f"CREATE ROLE reader_{database} LOGIN PASSWORD '{PASSWORD}'")
    server.execute(
        database,
        f"GRANT USAGE ON SCHEMA mnemosyne TO reader_{database}; "
        f"GRANT SELECT ON ALL TABLES IN SCHEMA mnemosyne TO reader_{database}",
    )
    url = server.url("r", database).replace("postgres@", f"reader_{database}@")
    with mnemosyne_vcs.open(url) as repo, pytest.raises(ReadOnlyError, match="permission denied"):
        repo.put("a", 1)
    server.execute(database, f"DROP OWNED BY reader_{database}; DROP ROLE reader_{database}")


@pytest.mark.parametrize(
    ("timeout", "options"), [(0.1, ""), (60, "&options=-c%20statement_timeout%3D100")]
)
def test_waiting_for_a_lock_ends_as_busy(url, timeout, options):
    holder = open_engine(url, create=True)
    other = open_engine(url + options, busy_timeout=timeout)
    with holder.exclusive():
        with pytest.raises(BusyError, match="try again"):
            other.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
        with pytest.raises(BusyError), other.exclusive():
            pass
        assert other.ref("r") is None
    other.write({BLOCK: b"data"}, RefUpdate("r", None, BLOCK))
    assert holder.ref("r") == BLOCK
    holder.close()
    other.close()


def test_writers_of_different_refs_do_not_wait_for_each_other(url):
    engine = open_engine(url, create=True)
    with engine.exclusive(alone=False):
        engine.write({}, RefUpdate("mine", None, BLOCK))
        writer = threading.Thread(
            target=engine.write, args=({}, RefUpdate("other", None, BLOCK)), daemon=True
        )
        writer.start()
        writer.join(30)
        assert not writer.is_alive()
    assert sorted(engine.refs()) == ["mine", "other"]
    engine.close()


def test_a_large_write_is_whole_or_nothing(url):
    engine = open_engine(url, create=True)
    objects = {object_id(bytes([n]) * 3_000_000): bytes([n]) * 3_000_000 for n in range(7)}
    with pytest.raises(mnemosyne_vcs.RefConflictError):
        engine.write(objects, RefUpdate("r", BLOCK, None))
    assert list(engine.ids()) == []
    engine.write(objects, RefUpdate("r", None, BLOCK))
    assert dict(engine.read(list(objects))) == objects
    engine.close()


def test_without_the_extra_the_line_says_what_to_install():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import mnemosyne_vcs\n"
        "try: mnemosyne_vcs.open('postgresql://h/d?repository=r')\n"
        "except mnemosyne_vcs.EngineError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.endswith("install mnemosyne-vcs[postgres]\n")


def test_a_plain_store_never_imports_psycopg(tmp_path):
    code = (
        "import sys, mnemosyne_vcs\n"
        f"mnemosyne_vcs.open({str(tmp_path / 'a.mnem')!r}, create=True)\n"
        "assert 'psycopg' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
