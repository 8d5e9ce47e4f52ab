"""The pages of the API reference name everything that is public."""

import re
from collections import Counter
from pathlib import Path

import mnemosyne_vcs

PAGES = sorted((Path(__file__).parents[1] / "docs" / "api").glob("*.md"))
DIRECTIVE = re.compile(r"^::: mnemosyne_vcs\.(\w+)$", re.MULTILINE)


def test_every_public_name_is_on_exactly_one_page():
    shown = Counter(name for page in PAGES for name in DIRECTIVE.findall(page.read_text()))
    public = {*mnemosyne_vcs.__all__, "open_repository"}
    assert public - set(shown) == set(), "name these in a page in docs/api"
    assert set(shown) - public == set(), "these are not public"
    assert [name for name, times in shown.items() if times > 1] == []
