"""Engines, which store the bytes of a repository."""

import os
import re
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.engine.registry import (
    BUILT_IN,
    EngineFactory,
    find_factory,
    made_by,
    url_by,
)
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import EngineError, ValidationError
from mnemosyne_vcs.paths import absolute, path_text, require_meant, require_trimmed

__all__ = ["canonical_url", "file_of", "open_engine"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_NEARLY = re.compile(r"(sqlite|memory|postgres|postgresql|s3):", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres"}
_KNOWN = (
    "a plain path, sqlite:///path, postgresql://…?repository=NAME, s3://bucket/prefix or memory://"
)


def open_engine(
    url: str | os.PathLike[str],
    *,
    create: bool = False,
    read_only: bool = False,
    durability: Literal["full", "relaxed"] = "full",
    busy_timeout: float = 30.0,
) -> Engine:
    """Open the store that a URL names.

    Args:
        url: a plain path, without expansion; `sqlite:///relative/path` or
            `sqlite:////absolute/path`, where `%`, `?`, `#` and the like are percent-encoded;
            `postgresql://user@host/database?repository=NAME`, with other parameters of libpq;
            `s3://bucket/prefix`, with the options of `objectstore.url.ObjectStoreUrl`;
            `memory://`, which is a new and empty store each time; or a URL of a scheme that
            `register_engine` or an installed distribution adds.
        create: create the store, and the directories above it, if it does not exist.
        read_only: refuse every write.
        durability: `"full"` keeps an acknowledged write through a loss of power; `"relaxed"`
            keeps it through the death of the process only, and is faster.
        busy_timeout: seconds that a write waits for other writers.

    Returns:
        The engine; what it can do beyond `Engine` is told by `isinstance`.

    Raises:
        ValidationError: the URL is of no known form, the path surely means something else, as with
            `~`, or an argument is out of range.
        NotFoundError: the store does not exist and `create` is false, or the path is relative and
            the current directory is gone.
        FormatVersionError: the store was written by a newer version.
        ReadOnlyError: the store's place is not writable, and `read_only` is false.
        CorruptObjectError: the store is damaged.
        EngineError: it is not a store, or cannot be opened.
        MnemosyneError: as the factory of a scheme that is not built in raises.
    """
    if durability not in ("full", "relaxed"):
        raise ValidationError(f"durability is 'full' or 'relaxed', not {durability!r}")
    if not 0 <= busy_timeout <= _MAX_TIMEOUT:
        raise ValidationError(
            f"busy_timeout is 0 to {_MAX_TIMEOUT:,} seconds, not {busy_timeout!r}"
        )
    url = _text(url)
    if _scheme(url) in _POSTGRES:
        return _open_postgres(
            url,
            create=create,
            read_only=read_only,
            durability=durability,
            busy_timeout=busy_timeout,
        )
    if _scheme(url) == "s3":
        return _open_object_store(
            url, create=create, read_only=read_only, busy_timeout=busy_timeout
        )
    if factory := _stranger(url):
        return made_by(
            factory,
            url,
            create=create,
            read_only=read_only,
            durability=durability,
            busy_timeout=busy_timeout,
        )
    path = _path(url)
    if path is None:
        from mnemosyne_vcs.engine.memory import MemoryEngine

        return MemoryEngine(read_only=read_only, busy_timeout=busy_timeout)
    from mnemosyne_vcs.engine.sqlite.engine import SQLiteEngine

    return SQLiteEngine(
        path,
        url=_sqlite_url(path),
        create=create,
        read_only=read_only,
        durability=durability,
        busy_timeout=busy_timeout,
    )


def canonical_url(url: str | os.PathLike[str], *, secrets: bool = False) -> str:
    """The URL that names the same store from any directory, without opening it.

    Args:
        url: as `open_engine` takes it.
        secrets: keep the password, for opening and not for showing.

    Raises:
        ValidationError: the URL is of no known form, or the path surely means something else.
        NotFoundError: the path is relative, and the current directory is gone.
        EngineError: the engine of a scheme that is not built in cannot be loaded.
        MnemosyneError: as the factory of such a scheme raises.
    """
    url = _text(url)
    if _scheme(url) in _POSTGRES:
        from mnemosyne_vcs.engine.postgres.url import parse_url

        canonical = parse_url(url).canonical
        return url if secrets else canonical
    if _scheme(url) == "s3":
        from mnemosyne_vcs.engine.objectstore.url import parse_url

        return parse_url(url).canonical
    if factory := _stranger(url):
        canonical = url_by(factory, url)
        return canonical if secrets else without_password(canonical)
    path = _path(url)
    return "memory://" if path is None else _sqlite_url(path)


def file_of(url: str | os.PathLike[str]) -> str | None:
    """The absolute path of the file that a URL names; None for a store that is not a file.

    Raises:
        ValidationError: the URL is of no known form.
        EngineError: the engine of a scheme that is not built in cannot be loaded.
    """
    url = os.fspath(url)
    return None if _scheme(url) in (*_POSTGRES, "s3") or _stranger(url) else _path(url)


_MAX_TIMEOUT = 1_000_000


def _text(url: str | os.PathLike[str]) -> str:
    text = path_text(url, "a path or URL")
    require_trimmed(text, without_password(text))
    return text


def _scheme(url: str) -> str | None:
    matched = _SCHEME.fullmatch(url)
    return matched[1].lower() if matched else None


def _stranger(url: str) -> EngineFactory | None:
    """The factory that opens a URL, if its scheme is not built in and there is one."""
    scheme = _scheme(url)
    return None if scheme is None or scheme in BUILT_IN else find_factory(scheme)


def _open_postgres(
    url: str,
    *,
    create: bool,
    read_only: bool,
    durability: Literal["full", "relaxed"],
    busy_timeout: float,
) -> Engine:
    from mnemosyne_vcs.engine.postgres.url import parse_url

    parsed = parse_url(url)
    try:
        from mnemosyne_vcs.engine.postgres.engine import PostgresEngine
    except ImportError as error:
        raise EngineError(
            f"{parsed.canonical} needs psycopg ({_in_one_line(error)}); "
            "install mnemosyne-vcs[postgres]"
        ) from error
    return PostgresEngine(
        parsed,
        create=create,
        read_only=read_only,
        durability=durability,
        busy_timeout=busy_timeout,
    )


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _open_object_store(url: str, *, create: bool, read_only: bool, busy_timeout: float) -> Engine:
    from mnemosyne_vcs.engine.objectstore.url import parse_url

    parsed = parse_url(url)
    try:
        from mnemosyne_vcs.engine.objectstore.engine import ObjectStoreEngine
    except ImportError as error:
        raise EngineError(
            f"{parsed.canonical} needs obstore ({error}); install mnemosyne-vcs[objectstore]"
        ) from error
    return ObjectStoreEngine(parsed, create=create, read_only=read_only, busy_timeout=busy_timeout)


def _path(url: str) -> str | None:
    """The absolute path of the file that a URL names; None for a store in memory."""
    scheme = _scheme(url) or "path"
    rest = url if scheme == "path" else url.partition("://")[2]
    if scheme == "path" and _NEARLY.match(url):
        shown = without_password(url)
        raise ValidationError(
            f"{shown!r} is not a URL, which has '://' behind the scheme; a file of that name is "
            f"./{shown}"
        )
    if scheme == "memory":
        if rest:
            raise ValidationError(f"{url!r}: memory:// takes no name; each one is a new store")
        return None
    if scheme not in ("path", "sqlite"):
        shown = without_password(url)
        raise ValidationError(
            f"{shown!r}: the scheme {scheme}:// is unknown; use {_KNOWN}, or install or register "
            "an engine for it"
        )
    if scheme == "path":
        require_meant(rest, without_password(url))
        return _checked(rest, url)
    require_meant(rest.removeprefix("/"), url)
    return _checked(_decoded(rest, url), url)


def _decoded(rest: str, url: str) -> str:
    """The path after `sqlite://`."""
    if not rest.startswith("/"):
        raise ValidationError(
            f"{url!r} names a host; write sqlite:///relative/path or sqlite:////absolute/path"
        )
    if "?" in rest or "#" in rest:
        raise ValidationError(f"{url!r}: write '?' as %3F and '#' as %23; there are no options")
    try:
        return unquote_to_bytes(rest[1:]).decode()
    except UnicodeDecodeError:
        raise ValidationError(f"{url!r}: the path is not percent-encoded UTF-8") from None


def _checked(path: str, url: str) -> str:
    """The absolute path, if it can be the name of a file."""
    if path in ("", ":memory:"):
        raise ValidationError(f"{url!r} names no file; use {_KNOWN}")
    if "\0" in path:
        raise ValidationError(f"{url!r}: a path holds no NUL")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{url!r}: the path is not UTF-8") from None
    return absolute(path)


def _sqlite_url(path: str) -> str:
    return "sqlite:///" + quote(path.replace(os.sep, "/"), safe="/:")
