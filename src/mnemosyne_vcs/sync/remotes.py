"""Remotes: other stores by name, and their branches as last fetched or pushed."""

import os
from collections.abc import Generator

from mnemosyne_vcs.blocks import Blocks
from mnemosyne_vcs.engine import canonical_url, open_engine
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.protocol import Engine, HasSettings, RefUpdate
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import AlreadyExistsError, EngineError, NotFoundError, ValidationError
from mnemosyne_vcs.interrupts import guarded
from mnemosyne_vcs.paths import path_text
from mnemosyne_vcs.refs import remote_ref, write_ref

__all__ = ["DEFAULT_REMOTE", "add_remote", "opened", "remotes", "remove_remote"]

DEFAULT_REMOTE = "origin"
_SETTING = "remote/"


def remotes(engine: Engine) -> dict[str, str]:
    """The URL of each remote by name, in order of name."""
    settings = Capabilities.of(engine).settings
    if settings is None:
        return {}
    return {name.removeprefix(_SETTING): url for name, url in settings.settings(_SETTING).items()}


def add_remote(engine: Engine, name: str, url: str | os.PathLike[str]) -> str:
    """Give another store a name, without opening it.

    Args:
        engine: the store that keeps the name.
        name: the name.
        url: the other store.

    Returns:
        The URL as stored: canonical, and without a password.

    Raises:
        ValidationError: the name is not a valid remote name, or the URL names no persistent store.
        AlreadyExistsError: a remote with that name exists already.
        EngineError: the engine keeps no settings.
        ReadOnlyError: the store does not accept writes.
    """
    remote_ref(name)
    kept = without_password(canonical_url(url))
    if kept == "memory://":
        raise ValidationError(
            "memory:// is a new and empty store each time, and cannot be a remote"
        )
    settings = _settings(engine)
    if name in remotes(engine):
        raise AlreadyExistsError(f"{engine.url} already has a remote {name!r}")
    settings.set_setting(_SETTING + name, kept)
    return kept


def remove_remote(blocks: Blocks, name: str, who: str, when: int) -> None:
    """Forget a remote and its branches; objects from it are kept while other refs reach them.

    Args:
        blocks: the objects of the store that keeps the name.
        name: the name.
        who: who removes it, for the reflog.
        when: UTC milliseconds, for the reflog.

    Raises:
        NotFoundError: there is no remote with that name.
        ReadOnlyError: the store does not accept writes.
    """
    engine = blocks.engine
    if name not in remotes(engine):
        raise NotFoundError(f"there is no remote {name!r} in {engine.url}")
    for ref, head in engine.refs(remote_ref(name)).items():
        update = RefUpdate(ref, head, None, who, when, f"remove remote {name}")
        write_ref(blocks, {}, update)
    _settings(engine).set_setting(_SETTING + name, None)


@guarded
def opened(
    engine: Engine, remote: str | os.PathLike[str], *, read_only: bool
) -> Generator[tuple[str | None, Blocks]]:
    """Another store, for as long as the context lasts.

    Args:
        engine: the store that keeps the names of remotes.
        remote: the name of a remote, else a URL or path.
        read_only: refuse every write to it.

    Yields:
        The name of the remote, or None for a URL; and the objects of the other store.

    Raises:
        NotFoundError: the remote or store does not exist.
        MnemosyneError: the store cannot be opened.
    """
    text = path_text(remote, "a remote")
    url = remotes(engine).get(text)
    try:
        other = open_engine(text if url is None else url, read_only=read_only)
    except NotFoundError as error:
        if url is not None:
            raise
        shown = without_password(text)
        raise NotFoundError(f"there is no remote {shown!r} in {engine.url}, and {error}") from error
    try:
        yield None if url is None else text, Blocks(other)
    finally:
        other.close()


def _settings(engine: Engine) -> HasSettings:
    settings = Capabilities.of(engine).settings
    if settings is None:
        raise EngineError(
            f"{engine.url} cannot store remotes; give the URL of the other store instead"
        )
    return settings
