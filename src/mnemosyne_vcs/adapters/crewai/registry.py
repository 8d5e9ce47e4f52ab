"""`register`: make a store the memory of every crew, agent and flow of the process."""

from dataclasses import dataclass, field
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any

from mnemosyne_vcs.adapters.crewai.backend import MnemosyneStorageBackend
from mnemosyne_vcs.adapters.crewai.specs import PREFIX, canonical_url, parse_spec

if TYPE_CHECKING:
    from crewai.memory.storage.factory import MemoryStorageFactory

__all__ = ["register", "unregister"]

_DEFAULT_SPEC = "lancedb"


@dataclass
class _Factory:
    """Handles CrewAI's default spec and our own; passes others to the previous factory."""

    url: str
    branch: str
    author: str
    previous: "MemoryStorageFactory | None"
    backends: dict[tuple[str, str], MnemosyneStorageBackend] = field(
        default_factory=dict[tuple[str, str], MnemosyneStorageBackend]
    )
    lock: Any = field(default_factory=Lock)

    def __call__(self, spec: str) -> Any:
        if spec == _DEFAULT_SPEC:
            return self.backend(self.url, self.branch)
        if PREFIX in spec:
            url, branch, revision = parse_spec(spec)
            backend = self.backend(canonical_url(url, secrets=True), branch)
            return backend if revision is None else backend.at(revision)
        return self.previous(spec) if self.previous else None

    def backend(self, url: str, branch: str) -> MnemosyneStorageBackend:
        with self.lock:
            shared = canonical_url(url), branch
            known = self.backends.get(shared)
            if known is None:
                known = MnemosyneStorageBackend(url, branch=branch, author=self.author)
                self.backends[shared] = known
            return known


def register(
    url: str | PathLike[str], *, branch: str = "main", author: str = "crewai"
) -> MnemosyneStorageBackend:
    """Make a store the memory of every `Crew(memory=True)`, agent and flow from here on.

    It handles CrewAI's default storage and specs of the form `mnemosyne+URL`, which checkpoints
    contain; a factory that was installed before handles all others. The store is opened, and
    created if it does not exist, when it is first used. Registering again replaces the
    registration.

    Args:
        url: a path or URL as `mnemosyne_vcs.open` takes it.
        branch: the branch to read and write.
        author: the author of commits.

    Returns:
        The backend that all of them share.

    Raises:
        ImportError: crewai is not installed.
        ValidationError: the URL is of no known form, or the path surely means something else.
    """
    from crewai.memory.storage import factory

    opened = canonical_url(url, secrets=True)
    unregister()
    ours = _Factory(opened, branch, author, factory._factory)  # pyright: ignore[reportPrivateUsage]
    factory.set_memory_storage_factory(ours)
    return ours.backend(ours.url, branch)


def unregister() -> None:
    """Restore the factory from before `register`; do nothing if ours is not installed."""
    from crewai.memory.storage import factory

    ours = factory._factory  # pyright: ignore[reportPrivateUsage]
    if isinstance(ours, _Factory):
        factory.set_memory_storage_factory(ours.previous)
