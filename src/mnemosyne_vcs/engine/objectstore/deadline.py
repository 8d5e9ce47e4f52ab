"""Deadlines and unknown outcomes of a change of the manifest."""

import random
import time

from mnemosyne_vcs.engine.objectstore import manifest as manifests
from mnemosyne_vcs.engine.objectstore.manifest import Manifest
from mnemosyne_vcs.errors import BusyError, EngineError

__all__ = ["TERM", "Retry"]

TERM = 5.0
"""The seconds for which an unchanged lease keeps others out."""

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1


class Retry:
    """The waits of a change of the manifest, and its unknown outcomes.

    Args:
        timeout: seconds to wait in all.

    Attributes:
        unsure: the version after which a put may have landed or may still land.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._began: float | None = None
        self._since = time.monotonic()
        self._lease: str | None = None
        self._pause = 0.0
        self._failing: float | None = None
        self.unsure: int | None = None

    def abandoned(self, manifest: Manifest) -> bool:
        """Whether the lease in a manifest has not changed for too long."""
        if manifest.lease != self._lease:
            self._lease, self._since = manifest.lease, time.monotonic()
        return time.monotonic() - self._since > TERM

    def failed(self, version: int) -> float:
        """Note that the outcome of a put is unknown.

        Args:
            version: the version that it was to follow.

        Returns:
            The seconds for which puts have failed.
        """
        now = time.monotonic()
        self.unsure = version
        self._failing = self._failing or now
        return now - self._failing

    def answered(self) -> None:
        """Note that the outcome of a put is known."""
        self._failing = None

    def resolve_outcome(self, version: int, url: str) -> None:
        """Conclude that no put has landed, since the newest version does not have the token.

        Raises:
            EngineError: that version does not have tokens that old any more.
        """
        if self.unsure is None or version == self.unsure:
            return
        if version - self.unsure > manifests.TOKENS:
            raise EngineError(
                f"{url} was changed so often meanwhile that whether this write is part of it "
                "cannot be told; read what you wrote"
            )
        self.unsure = None

    def pause(self) -> None:
        """Wait, longer each time; not at all at first, when this process was only out of date."""
        time.sleep(random.uniform(0.5, 1.0) * self._pause)
        self._pause = min(max(self._pause * 1.5, FIRST_PAUSE), LONGEST_PAUSE)

    def check_deadline(self, url: str) -> None:
        """Raise if the time is over, counted from the first call."""
        now = time.monotonic()
        self._began = self._began or now
        if now - self._began > self._timeout:
            kind = BusyError if self.unsure is None else EngineError
            raise kind(f"others have been writing to {url} for {self._timeout:g} s; try again")
