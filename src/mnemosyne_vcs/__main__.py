"""`python -m mnemosyne_vcs`: the `mnem` command."""

from mnemosyne_vcs.cli import main

if __name__ == "__main__":
    main()
