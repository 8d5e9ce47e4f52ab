"""The names of the package: where they say they are from, and that they can be found there."""

import inspect
import pickle

import pytest

import mnemosyne_vcs

PUBLIC = sorted(mnemosyne_vcs.__all__)
MADE_HERE = [
    name
    for name in PUBLIC
    if inspect.isclass(getattr(mnemosyne_vcs, name))
    or inspect.isfunction(getattr(mnemosyne_vcs, name))
]


@pytest.mark.parametrize("name", MADE_HERE)
def test_a_name_says_that_it_is_of_the_package(name: str):
    assert getattr(mnemosyne_vcs, name).__module__ == "mnemosyne_vcs"


@pytest.mark.parametrize(
    "name", [name for name in MADE_HERE if inspect.isclass(getattr(mnemosyne_vcs, name))]
)
def test_a_pickle_names_the_package_and_no_module_in_it(name: str):
    data = pickle.dumps(getattr(mnemosyne_vcs, name))
    assert b"mnemosyne_vcs." not in data
    assert pickle.loads(data) is getattr(mnemosyne_vcs, name)
