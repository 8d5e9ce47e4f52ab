"""A backup that stops where it is told to: `python backup_child.py URL PATH EVENT`.

EVENT is what Python's audit calls the step before which it waits to be told to go on.
"""

import sys
from pathlib import Path

import mnemosyne_vcs


def main(url: str, path: str, event: str) -> None:
    repo = mnemosyne_vcs.open(url)
    waiting = True

    def stop(name: str, arguments: tuple[object, ...]) -> None:
        nonlocal waiting
        if waiting and name == event and str(arguments[0]).startswith(str(Path(path).parent)):
            waiting = False
            print(f"at {event}", flush=True)
            sys.stdin.readline()

    sys.addaudithook(stop)
    try:
        repo.backup(path)
    except mnemosyne_vcs.MnemosyneError as error:
        print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
