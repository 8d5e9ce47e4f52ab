"""Running a function in a transaction until it lands."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from mnemosyne_vcs.errors import ConflictError, NotFoundError
from mnemosyne_vcs.model import Commit
from mnemosyne_vcs.transaction.retries import until_it_lands
from mnemosyne_vcs.transaction.transaction import Transaction, Writer

__all__ = ["transact"]


def transact(
    writer: Writer,
    fn: Callable[[Transaction], object],
    branch: str,
    *,
    author: str | None = None,
    message: str = "",
    trailers: Mapping[str, str] | None = None,
    reads: bool = True,
    expect: Commit | None = None,
) -> Commit:
    """Run a function in a transaction, again on the new head until it lands.

    After a few lost races it runs under the engine's write lock, if there is one.

    Args:
        writer: the repository's side.
        fn: called with a fresh `Transaction` each time; may read from it and write to it.
        branch: the branch to commit to.
        author: the author; the repository's if not given.
        message: the commit message.
        trailers: further facts by name for the commit.
        reads: whether it depends on what the branch holds. If not, it may start from this
            process's last commit on the branch, without reading the head.
        expect: the commit that the branch must point at; then it runs once.

    Returns:
        The commit, or the head if the function changed nothing.

    Raises:
        ConflictError: it lost every race on an engine without a write lock.
        RefConflictError: the branch does not point at `expect`.
        EngineError: the store failed, and the commit is not in it.
        ReadOnlyError: the store does not accept writes.
        Exception: whatever the function raises; nothing was written.
    """

    def begun_at(base: Commit | None) -> Commit:
        transaction = Transaction(
            writer,
            branch,
            author=author,
            message=message,
            trailers=trailers,
            base=base,
            expect=expect,
        )
        with transaction:
            fn(transaction)
            return transaction.committed or transaction.commit()

    if expect is not None:
        return begun_at(None)
    guess = None if reads else writer.heads.guess(branch)

    def once() -> Commit:
        nonlocal guess
        base, guess = guess, None
        if base is not None:
            with suppress(NotFoundError):  # it was collected, after the branch was deleted
                return begun_at(base)
        return begun_at(None)

    return until_it_lands(writer.blocks.can, once, ConflictError)
