"""The demo's story on a terminal, or as plain lines when piped."""

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["ConsoleNarrator"]

_INDENT = (0, 0, 0, 2)


class ConsoleNarrator:
    """Tells the story through rich.

    Args:
        console: where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def chapter(self, title: str) -> None:
        """Begin a chapter.

        Args:
            title: its title.
        """
        self._console.print()
        self._console.print(Text(title, style="bold cyan"))

    def line(self, text: str) -> None:
        """Tell one thing.

        Args:
            text: what to tell.
        """
        self._print(Text(text))

    def exchange(self, question: str, answer: str) -> None:
        """Show a customer's question and the answer that the crew gave.

        Args:
            question: the question.
            answer: the answer.
        """
        self._print(Text(f"> {question}", style="dim"))
        self._print(Text(f"< {answer}", style="bold"))

    def facts(self, facts: Mapping[str, str]) -> None:
        """Show named facts, one a line.

        Args:
            facts: each fact by its name.
        """
        self._pairs(facts, "cyan")

    def commands(self, commands: Mapping[str, str]) -> None:
        """Offer commands to type, each on lines of its own so that it can be copied.

        Args:
            commands: what each shows, by command.
        """
        for command, purpose in commands.items():
            self._print(Text(f"# {purpose}", style="dim"))
            self._console.print(Text(f"  {command}", style="green"), soft_wrap=True)

    def _pairs(self, pairs: Mapping[str, str], style: str) -> None:
        table = Table.grid(padding=(0, 2))
        table.add_column(style=style, no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in pairs.items():
            table.add_row(name, value)
        self._print(table)

    def _print(self, what: Text | Table) -> None:
        self._console.print(Padding(what, _INDENT))
