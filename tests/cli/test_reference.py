"""The command-line reference is what the commands say."""

from pathlib import Path

from mnemosyne_vcs.cli import commands
from mnemosyne_vcs.cli.app import SECTIONS
from mnemosyne_vcs.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
VERBS = [verb for verbs in SECTIONS.values() for verb in verbs]


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run: python -m mnemosyne_vcs.cli.reference > docs/cli.md"
    )


def test_every_module_of_a_verb_is_listed():
    modules = Path(commands.__path__[0]).glob("*.py")
    stems = {path.stem for path in modules} - {"__init__"}
    names = {stem.rstrip("_").replace("_", "-") for stem in stems}

    assert names == set(VERBS)
    assert len(VERBS) == len(set(VERBS))
