"""The demo's story on a terminal, or as plain lines when piped."""

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mnemosyne_vcs.visible import printable

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
        self._console.print(Text(printable(title), style="bold cyan"), soft_wrap=True)

    def line(self, text: str) -> None:
        """Tell one thing.

        Args:
            text: what to tell.
        """
        self._print(Text(printable(text)))

    def exchange(self, question: str, answer: str) -> None:
        """Show a customer's question and the answer.

        Args:
            question: the question.
            answer: the answer.
        """
        self._print(Text(printable(f"> {question}"), style="dim"))
        self._print(Text(printable(f"< {answer}"), style="bold"))

    def facts(self, facts: Mapping[str, str]) -> None:
        """Show named facts, one a line.

        Args:
            facts: each fact by its name.
        """
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            self._print(
                Text.assemble((printable(name).ljust(width), "cyan"), "  ", printable(value))
            )

    def commands(self, commands: Mapping[str, str]) -> None:
        """Offer commands to type, each whole on a line so that it can be copied.

        Args:
            commands: what each shows, by command.
        """
        for command, purpose in commands.items():
            self._print(Text(printable(f"# {purpose}"), style="dim"))
            self._console.print(Text(printable(f"  {command}"), style="green"), soft_wrap=True)

    def _print(self, text: Text) -> None:
        """Print indented: wrapped on a terminal, a line as it is when piped."""
        if self._console.is_terminal:
            self._console.print(Padding(text, _INDENT))
        else:
            self._console.print(Text.assemble("  ", text), soft_wrap=True)
