"""CrewAI's memory on an engine that is not built in."""

import pytest

pytest.importorskip("crewai")

from crewai.memory.storage.factory import resolve_memory_storage

import mnemosyne_vcs
from adapters.test_backend import record, registered  # noqa: F401
from mnemosyne_vcs.engine import registry
from mnemosyne_vcs.engine.sqlite.engine import SQLiteEngine

pytestmark = pytest.mark.crewai


@pytest.fixture
def shared_url(tmp_path, monkeypatch) -> str:
    monkeypatch.setattr(registry, "_registered", {})
    mnemosyne_vcs.register_engine(
        "shelf", lambda url, **options: SQLiteEngine(url.partition("://")[2], url=url, **options)
    )
    return f"SHELF://{tmp_path}/crew"


def test_the_backend_and_its_specs_take_a_scheme_of_others(registered, tmp_path):  # noqa: F811
    registered.save([record("a", "kept")])
    url = f"shelf://{tmp_path}/crew"
    assert registered.repository.url == url
    assert resolve_memory_storage(f"mnemosyne+{url}") is registered
    other = resolve_memory_storage(f"mnemosyne+shelf://{tmp_path}/other#trial")
    other.save([record("b", "apart")])
    other.close()
    with mnemosyne_vcs.open(f"shelf://{tmp_path}/other") as repo:
        assert repo.branches().keys() == {"main", "trial"}
