"""The demo: agents, offline, whose memory goes wrong and is fixed."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from mnemosyne_vcs.cli.demo.story import Story

__all__ = ["run"]


def run(path: Path, console: "Console", *, crewai: bool = False) -> "Story":
    """Play the demo on a new store, and keep the store.

    Args:
        path: the file to create.
        console: where to tell the story.
        crewai: whether real CrewAI crews play it, rather than a plain loop.

    Returns:
        What happened, as found in the store.

    Raises:
        ImportError: crewai is wanted and not installed.
        AlreadyExistsError: the path exists already.
        MnemosyneError: the store cannot be written.
    """
    from mnemosyne_vcs.cli.demo.narrator import ConsoleNarrator
    from mnemosyne_vcs.cli.demo.story import tell

    narrator = ConsoleNarrator(console)
    if not crewai:
        from mnemosyne_vcs.cli.demo.loop import LoopDesk

        return tell(path, LoopDesk.open, narrator)

    from mnemosyne_vcs.cli.demo.quiet import quiet_crewai

    with quiet_crewai():
        from mnemosyne_vcs.cli.demo.crew import CrewDesk

        return tell(path, CrewDesk.open, narrator)
