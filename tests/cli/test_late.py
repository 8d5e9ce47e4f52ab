"""A store whose times no datetime can be, as a bundle from elsewhere may bring them."""

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import Repository, Transaction
from mnemosyne_vcs.format.objects import StoredRecord, encode_record, new_salt, object_id
from mnemosyne_vcs.format.validation import MAX_MOMENT

BEYOND = MAX_MOMENT + 1


@pytest.fixture
def late(tmp_path):
    path = tmp_path / "late.mnem"
    with mnemosyne_vcs.open(path, create=True) as opened:
        repo = Repository(opened.blocks.engine, author="late", clock=lambda: BEYOND)
        stored = StoredRecord("from elsewhere", "0" * 32, event_time=2**63 - 1)
        data = encode_record(stored, new_salt())
        opened.blocks.engine.write({object_id(data): data})
        with Transaction(repo._writer, "main", changes={"k": object_id(data)}) as tx:
            tx.put("other", 1, event_time=MAX_MOMENT)
        repo.put("other", 2, message="late")
        repo.create_branch("side", "main~1")
        repo.put("k", "side", branch="side")
        repo.put("k", "main")
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",), ("log",), ("log", "--graph"), ("show",), ("why", "k"), ("reflog",),
        ("branch",),
        ("blame", "k"), ("diff", "main~2", "main"), ("undo", "--dry-run"), ("merge", "side"),
        ("cherry-pick", "side", "--dry-run"), ("revert", "main", "--dry-run"), ("stats",),
        ("restore", "--from", "main~1", "--dry-run"), ("bisect", "--key", "k", "--present"),
        ("show", "main~1:k"), ("show", "main~1:other"), ("verify",), ("gc", "--dry-run"),
        ("ls", "-rl"), ("log", "--since", "9999-12-31T00:00Z"), ("put", "new", "1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_verb_stumbles(here, late, arguments, form):
    from click.testing import CliRunner

    from mnemosyne_vcs.cli.app import mnem

    ran = CliRunner().invoke(mnem, [*arguments, *form, "-s", late])

    assert isinstance(ran.exception, SystemExit | None), ran.exception
    assert ran.exit_code in (0, 4)


def test_times_are_numbers(mnem, late):
    assert f"{BEYOND} ms" in mnem("log", "-s", late).lines[0]
    assert f"{2**63 - 1} ms" in mnem("show", "main~1:k", "-s", late).stdout
    assert "9999-12-31 23:59:59Z" in mnem("show", "main~2:other", "-s", late).stdout
    assert mnem("log", "-n", "1", "--json", "-s", late).json["time"] == BEYOND
