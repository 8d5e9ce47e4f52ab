import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemosyne_vcs.views.keys import span, splice

KEYS = st.text(alphabet=["a", "b", "/", "\ud7ff", "\U0010ffff"], max_size=4)


@given(st.sets(KEYS), KEYS)
def test_a_span_holds_just_the_keys_with_the_prefix(keys, prefix):
    ordered = sorted(keys)
    start, stop = span(ordered, prefix)
    assert ordered[start:stop] == [key for key in ordered if key.startswith(prefix)]


@given(
    st.dictionaries(KEYS, st.integers(0, 9)), st.dictionaries(KEYS, st.integers(0, 9) | st.none())
)
def test_a_splice_does_what_a_dictionary_does(before, edits):
    keys = sorted(before)
    ordered = sorted(edits)
    change = splice(keys, [(key, edits[key] is not None) for key in ordered])
    new = np.array([edits[key] for key in ordered if edits[key] is not None], dtype=np.int64)
    old = np.array([before[key] for key in keys], dtype=np.int64)
    after = {key: value for key, value in {**before, **edits}.items() if value is not None}
    assert change.keys == sorted(after)
    assert change.column(old, new).tolist() == [after[key] for key in sorted(after)]
    assert keys == sorted(before)


def test_keys_that_stay_the_same_are_shared():
    keys = ["a", "b", "c"]
    assert splice(keys, [("b", True)]).keys is keys
    assert splice(keys, [("bb", False)]).keys is keys
