"""The `mnem` command: the only part that reads the environment and prints."""

__all__ = ["main"]


def main() -> None:
    """Run `mnem` with the arguments of the process, and exit with its code."""
    from mnemosyne.cli.app import mnem

    mnem.main(prog_name="mnem")
