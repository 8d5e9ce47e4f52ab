"""`python -m mnemosyne`: the `mnem` command."""

from mnemosyne.cli import main

if __name__ == "__main__":
    main()
