"""Tracing what came from a source through what was derived from it, and taking just that back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemosyne_vcs
from mnemosyne_vcs import ReadOnlyError
from mnemosyne_vcs.testing.repository.trace import TraceContract, found, put


class TestTrace(TraceContract):
    pass


def test_a_read_only_repository_plans(tmp_path):
    with mnemosyne_vcs.open(tmp_path / "a.mnem", create=True) as repo:
        put(repo, "a", 1, source="bad")
    with mnemosyne_vcs.open(tmp_path / "a.mnem", read_only=True) as repo:
        assert found(repo, source="bad") == {("main", "a"): ()}
        assert repo.plan_retract(source="bad").keys() == {"main"}
        with pytest.raises(ReadOnlyError):
            repo.retract(source="bad")


STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.booleans(), st.lists(st.sampled_from("abcd"), max_size=2)
    ),
    max_size=14,
)


@given(STEPS)
def test_tracing_and_retracting_agree_with_a_plain_account(
    steps: list[tuple[str, bool, list[str]]],
):
    repo = mnemosyne_vcs.open("memory://", create=True)
    versions: dict[str, list[tuple[int, bool]]] = {}
    for number, (key, bad, sources) in enumerate(steps):
        derived = [(source, "main") for source in sources if source in versions]
        tainted = bad or any(versions[source][-1][1] for source, _ in derived)
        put(repo, key, number, *derived, source="bad" if bad else "good")
        versions.setdefault(key, []).append((number, tainted))
    live = {key for key, line in versions.items() if line[-1][1]}
    assert {key for _, key in found(repo, source="bad")} == live
    repo.retract(source="bad")
    kept = {key: [n for n, tainted in line if not tainted] for key, line in versions.items()}
    expected = {key: line[-1] for key, line in kept.items() if line}
    assert {record.key: record.content for record in repo.at().scan()} == expected
    assert found(repo, source="bad") == {}
