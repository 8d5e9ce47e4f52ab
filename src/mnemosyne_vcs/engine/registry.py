"""Engines of other distributions: the URL schemes that they open, and finding them."""

import re
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, cast

from mnemosyne_vcs.engine.protocol import Engine
from mnemosyne_vcs.engine.shared import without_password
from mnemosyne_vcs.errors import AlreadyExistsError, EngineError, ValidationError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUILT_IN", "EngineFactory", "find_factory", "made_by", "register_engine", "url_by"]

BUILT_IN = frozenset({"memory", "postgres", "postgresql", "s3", "sqlite"})
"""The schemes of the engines that are built in."""

GROUP = "mnemosyne_vcs.engines"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+", re.IGNORECASE)
_MEMBERS = ("url", "read_only", "read", "ref", "refs", "write", "close")


class EngineFactory(Protocol):
    """Opens stores by URL. It may be a class whose constructor takes these arguments.

    It may have a method `canonical_url(url: str) -> str`, which gives the URL that names the same
    store from any directory, without opening it. Without one, it is the URL as given, with the
    scheme in lower case.
    """

    def __call__(
        self,
        url: str,
        *,
        create: bool,
        read_only: bool,
        durability: Literal["full", "relaxed"],
        busy_timeout: float,
    ) -> Engine:
        """Open the store that a URL names.

        Args:
            url: the URL, with the scheme in lower case.
            create: create the store if it does not exist.
            read_only: refuse every write.
            durability: `"full"`: an acknowledged write survives a loss of power; `"relaxed"`: it
                survives the death of the process.
            busy_timeout: seconds that a write waits for other writers.

        Raises:
            ValidationError: the URL is not valid.
            NotFoundError: the store does not exist, and `create` is false.
            ReadOnlyError: the store cannot be written, and `read_only` is false.
            EngineError: the store cannot be opened.
        """
        ...


_registered: dict[str, EngineFactory] = {}
_loaded: dict[str, EngineFactory] = {}
_lock = Lock()


def register_engine(scheme: str, factory: EngineFactory) -> None:
    """Let URLs of a scheme open stores of an engine that is not built in, in this process.

    A distribution does the same for every program with an entry point of the group
    `mnemosyne_vcs.engines`, whose name is the scheme and whose object is the factory. A factory
    that is registered here precedes entry points.

    Args:
        scheme: the part of the URL before `://`, in any case.
        factory: opens a store; it may have a method `canonical_url`. See `EngineFactory`.

    Raises:
        ValidationError: the scheme is built in or is not a valid scheme, or the factory cannot be
            called.
        AlreadyExistsError: another factory is registered for the scheme.
    """
    _check(scheme, factory)
    with _lock:
        if _registered.setdefault(scheme.lower(), factory) is not factory:
            raise AlreadyExistsError(
                f"the scheme {scheme}:// is registered already, for "
                f"{_registered[scheme.lower()]!r}; choose another scheme"
            )


def find_factory(scheme: str) -> EngineFactory | None:
    """The factory for a scheme that is not built in; None if there is none.

    Entry points are read only if no factory is registered for the scheme.

    Args:
        scheme: the scheme, in lower case.

    Raises:
        EngineError: a distribution offers the scheme and cannot be used, or several offer it.
    """
    with _lock:
        known = _registered.get(scheme) or _loaded.get(scheme)
    if known is not None:
        return known
    offered = _offered(scheme)
    if len(offered) > 1:
        names = " and ".join(sorted(_distribution(point) for point in offered))
        raise EngineError(
            f"several distributions offer an engine for {scheme}://: {names}; uninstall all but "
            "one, or choose one with register_engine"
        )
    if not offered:
        return None
    factory = _load(offered[0], scheme)
    with _lock:
        return _loaded.setdefault(scheme, factory)


def made_by(
    factory: EngineFactory,
    url: str,
    *,
    create: bool,
    read_only: bool,
    durability: Literal["full", "relaxed"],
    busy_timeout: float,
) -> Engine:
    """The engine that a factory opens.

    Raises:
        EngineError: what the factory returned is not an engine.
        MnemosyneError: as the factory raises.
    """
    url = _plain(url)
    engine = factory(
        url, create=create, read_only=read_only, durability=durability, busy_timeout=busy_timeout
    )
    lacking = [name for name in _MEMBERS if not hasattr(engine, name)]
    if lacking:
        raise EngineError(
            f"cannot open {without_password(url)}: its factory {factory!r} returned "
            f"{engine!r:.60}, which is not an engine: it has no {', '.join(lacking)}"
        )
    return engine


def url_by(factory: EngineFactory, url: str) -> str:
    """The canonical URL of a store, from its factory, without opening it.

    Raises:
        EngineError: what the factory returned is not a URL.
        MnemosyneError: as the factory raises.
    """
    url = _plain(url)
    canonical = cast("Callable[[str], object] | None", getattr(factory, "canonical_url", None))
    if canonical is None:
        return url
    told = canonical(url)
    if not isinstance(told, str) or "://" not in told:
        raise EngineError(
            f"the canonical URL of {without_password(url)} is {told!r:.60}, as {factory!r} tells "
            "it; it must be a URL"
        )
    return told


def _plain(url: str) -> str:
    """The URL with its scheme in lower case."""
    if "#" in url:
        raise ValidationError(f"{without_password(url)!r}: write '#' as %23")
    scheme, _, rest = url.partition("://")
    return f"{scheme.lower()}://{rest}"


def _check(scheme: object, factory: object) -> None:
    if not isinstance(scheme, str) or not _SCHEME.fullmatch(scheme):
        raise ValidationError(
            f"{scheme!r:.60} is not a valid scheme: it begins with a letter and has two or more "
            "letters, digits, '+', '-' and '.', all of ASCII"
        )
    if scheme.lower() in BUILT_IN:
        raise ValidationError(f"the scheme {scheme}:// is built in; choose another one")
    if not callable(factory):
        raise ValidationError(
            f"the factory for {scheme}:// cannot be called: {factory!r:.60}; see EngineFactory"
        )


def _offered(scheme: str) -> "list[EntryPoint]":
    from importlib.metadata import entry_points

    return [point for point in entry_points(group=GROUP) if point.name.lower() == scheme]


def _load(point: "EntryPoint", scheme: str) -> EngineFactory:
    try:
        factory: object = point.load()
    except Exception as error:
        raise EngineError(
            f"the engine for {scheme}:// of {_distribution(point)} cannot be loaded from "
            f"{point.value!r} ({type(error).__name__}: {error}); mend or uninstall it"
        ) from error
    try:
        _check(scheme, factory)
    except ValidationError as error:
        raise EngineError(f"{_distribution(point)} offers no engine: {error}") from error
    return cast("EngineFactory", factory)


def _distribution(point: "EntryPoint") -> str:
    return (
        "a distribution without a name"
        if point.dist is None
        else (f"{point.dist.name} {point.dist.version}")
    )
