"""The demo: a real CrewAI crew, offline, whose memory goes wrong and is put right."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from mnemosyne_vcs.cli.demo.story import Story

__all__ = ["run"]


def run(path: Path, console: "Console") -> "Story":
    """Play the demo on a new store and leave the store behind.

    Args:
        path: the file to create.
        console: where to tell the story.

    Returns:
        What happened, as found in the store.

    Raises:
        ImportError: crewai is not installed.
        AlreadyExistsError: there is something at the path.
        MnemosyneError: the store cannot be written.
    """
    from mnemosyne_vcs.cli.demo.narrator import ConsoleNarrator
    from mnemosyne_vcs.cli.demo.quiet import quiet_crewai

    with quiet_crewai():
        from mnemosyne_vcs.cli.demo.story import tell

        return tell(path, ConsoleNarrator(console))
