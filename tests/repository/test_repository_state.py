"""The repository against a plain model: dictionaries for branches, lists for histories."""

from mnemosyne_vcs.testing.repository.state import SETTINGS, Model, StateContract


class TestState(StateContract):
    pass


TestModel = Model.TestCase
TestModel.settings = SETTINGS
