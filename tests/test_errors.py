"""The error tree and the public names: what callers build on, pinned."""

import inspect
import pickle

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import errors
from mnemosyne_vcs.errors import ConflictError, MnemosyneError
from mnemosyne_vcs.model import Conflict

TREE = {
    "MnemosyneError": (Exception, "error"),
    "NotFoundError": (("MnemosyneError", KeyError), "not-found"),
    "AlreadyExistsError": (("MnemosyneError",), "already-exists"),
    "InvalidRevisionError": (("MnemosyneError", ValueError), "invalid-revision"),
    "ValidationError": (("MnemosyneError", ValueError), "validation"),
    "DimensionError": (("ValidationError",), "dimension"),
    "ConflictError": (("MnemosyneError",), "conflict"),
    "RefConflictError": (("ConflictError",), "ref-conflict"),
    "TransactionDoneError": (("MnemosyneError",), "transaction-done"),
    "InconclusiveError": (("MnemosyneError",), "inconclusive"),
    "ReadOnlyError": (("MnemosyneError", PermissionError), "read-only"),
    "CorruptObjectError": (("MnemosyneError",), "corrupt"),
    "FormatVersionError": (("MnemosyneError",), "format-version"),
    "EngineError": (("MnemosyneError", OSError), "engine"),
    "BusyError": (("EngineError",), "busy"),
}

NAMES = {
    "Activity",
    "Blame",
    "Bundle",
    "Change",
    "Commit",
    "Conflict",
    "Embed",
    "Engine",
    "EngineFactory",
    "FieldChange",
    "GcReport",
    "JSON",
    "NetworkFileSystemWarning",
    "OnConflict",
    "Plan",
    "Problem",
    "Provenance",
    "Record",
    "ReflogEntry",
    "Replacement",
    "Repository",
    "Resolution",
    "Retraction",
    "Revision",
    "SearchHit",
    "SearchMode",
    "Snapshot",
    "Stats",
    "TextMatch",
    "TracedRecord",
    "Transaction",
    "TransferReport",
    "VectorLike",
    "Vectors",
    "VerifyReport",
    "Where",
    "clone",
    "field_changes",
    "initialise",
    "register_engine",
}


def test_the_tree_is_whole():
    found = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, MnemosyneError)
    }
    assert found == set(errors.__all__) == TREE.keys()


@pytest.mark.parametrize("name", TREE)
def test_an_error_has_its_bases_and_its_kind(name):
    bases, kind = TREE[name]
    named = bases if isinstance(bases, tuple) else (bases,)
    wanted = tuple(getattr(errors, base) if isinstance(base, str) else base for base in named)
    error = getattr(errors, name)
    assert error.__bases__ == wanted
    assert error.kind == kind
    assert error.__doc__


def test_kinds_are_distinct():
    kinds = [kind for _, kind in TREE.values()]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("name", TREE)
def test_an_error_says_its_message_plainly(name):
    error = getattr(errors, name)("there is no branch 'x'")
    assert str(error) == error.message == "there is no branch 'x'"
    assert error.kind in ("error", TREE[name][1])


@pytest.mark.parametrize("name", TREE)
def test_an_error_passes_between_processes(name):
    error = pickle.loads(pickle.dumps(getattr(errors, name)("what is wrong")))
    assert type(error) is getattr(errors, name)
    assert str(error) == "what is wrong"


def test_an_error_of_the_os_has_no_number():
    assert errors.EngineError("disk").errno is None


def test_a_conflict_carries_what_clashes():
    conflict = Conflict("k", "edit/edit", None, None, None)
    assert ConflictError("m", [conflict]).conflicts == (conflict,)
    assert ConflictError("m").conflicts == ()
    again = pickle.loads(pickle.dumps(ConflictError("m", [conflict])))
    assert again.conflicts == (conflict,)


def test_the_public_names_are_these():
    assert set(mnemosyne_vcs.__all__) == NAMES | TREE.keys()


TYPES = {
    "Embed",
    "JSON",
    "OnConflict",
    "Resolution",
    "Revision",
    "SearchMode",
    "VectorLike",
    "Where",
}


@pytest.mark.parametrize("name", sorted((NAMES | TREE.keys()) - TYPES))
def test_a_public_name_is_there_and_described(name):
    assert inspect.getdoc(getattr(mnemosyne_vcs, name))


def test_the_page_of_errors_says_what_is():
    """Its table lists every error with its bases, kind and exit code."""
    from pathlib import Path

    from mnemosyne_vcs import errors
    from mnemosyne_vcs.cli.failures import exit_code

    page = (Path(__file__).parents[1] / "docs" / "errors.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    listed = {row[0]: row for row in rows}
    assert set(listed) == set(errors.__all__) - {"MnemosyneError"}
    for name, row in listed.items():
        error = getattr(errors, name)
        also = row[1]
        bases = {base.__name__ for base in error.__bases__} - {"MnemosyneError"}
        assert ({also} if also else set()) == bases, name
        raised = error("message")
        assert (row[2], int(row[3])) == (error.kind, exit_code(raised)), name
