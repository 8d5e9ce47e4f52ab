"""How ages, counts and sizes are told."""

import pytest

from mnemosyne_vcs.cli.describe import age, byte_size, counted


class TestWords:
    @pytest.mark.parametrize(
        "seconds, text",
        [(0, "just now"), (1, "1 second ago"), (119, "1 minute ago"), (7200, "2 hours ago"),
         (200_000, "2 days ago"), (-5, "just now")],
    )  # fmt: skip
    def test_age(self, seconds, text):
        assert age(0, seconds * 1000) == text

    def test_counts_and_sizes(self):
        assert [counted(1, "branch"), counted(2000, "branch")] == ["1 branch", "2,000 branches"]
        assert [byte_size(n) for n in (0, 1023, 1024, 3 << 30)] == [
            "0 bytes", "1023 bytes", "1.0 KiB", "3.0 GiB",
        ]  # fmt: skip
