"""What `MnemosyneStorageBackend` adds to CrewAI's contract, and how it keeps its promises."""

import copy
import os
import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import numpy as np
import pytest

pytest.importorskip("crewai")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.storage.factory import resolve_memory_storage, set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

import mnemosyne_vcs
from interrupting import Interrupted, instants, interrupt
from mnemosyne_vcs import (
    CorruptObjectError,
    EngineError,
    NotFoundError,
    ReadOnlyError,
    ValidationError,
)
from mnemosyne_vcs.adapters.crewai import MnemosyneStorageBackend, register, unregister
from mnemosyne_vcs.engine import open_engine
from mnemosyne_vcs.refs import ROOT_COMMIT
from mnemosyne_vcs.tree import EMPTY_ROOT


def record(id: str, content: str = "text", vector: object = (1.0, 0.0), **fields: object):
    embedding = None if vector is None else list(vector)
    return MemoryRecord(id=id, content=content, embedding=embedding, **fields)


def exists(url: str) -> bool:
    try:
        mnemosyne_vcs.open(url).close()
    except NotFoundError:
        return False
    return True


@pytest.fixture
def backend(shared_url: str):
    backend = MnemosyneStorageBackend(shared_url, author="crew-test")
    yield backend
    backend.close()


@pytest.fixture
def registered(shared_url: str):
    set_memory_storage_factory(None)
    yield register(shared_url)
    unregister()
    set_memory_storage_factory(None)


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


class TestHistory:
    def test_every_call_is_one_commit(self, backend):
        backend.save([record("a"), record("b")])
        backend.update(record("a", "new"))
        backend.delete(record_ids=["b"])
        backend.reset()
        log = [(c.message, c.author) for c in backend.repository.log()]
        assert log == [
            ("reset /", "crew-test"),
            ("delete 1 record", "crew-test"),
            ("update a", "crew-test"),
            ("save 2 records", "crew-test"),
        ]

    def test_what_changes_nothing_makes_no_commit(self, backend):
        backend.save(
            [record("a", created_at=datetime(2026, 1, 1), last_accessed=datetime(2026, 1, 1))]
        )
        head = backend.repository.resolve().id
        backend.update(
            record("a", created_at=datetime(2026, 1, 1), last_accessed=datetime(2026, 1, 1))
        )
        backend.delete(record_ids=["none"])
        backend.delete(record_ids=[])
        backend.reset("/none")
        assert backend.repository.resolve().id == head

    def test_history_and_why_follow_a_record_through_scopes(self, backend):
        backend.save([record("a", "one", scope="/x", source="ticket")])
        backend.update(record("a", "two", scope="/y"))
        contents = [b.record.content["content"] for b in backend.history("a")]
        assert contents == ["two", "one"]
        why = backend.why("a")
        assert why.commit.id == backend.repository.resolve().id
        assert why.record.content["content"] == "two"
        assert why.record.provenance.source == "ticket"
        assert why.record.moved_from == "/x/a"

    def test_history_of_a_deleted_record(self, backend):
        backend.save([record("a", "one")])
        backend.save([record("b", "other")])
        backend.delete(record_ids=["a"])
        assert [b.record and b.record.content["content"] for b in backend.history("a")] == [
            None,
            "one",
        ]
        assert backend.why("a").record is None
        with pytest.raises(NotFoundError, match="'none'"):
            backend.history("none")

    def test_the_past_is_a_memory_of_its_own(self, backend):
        backend.save([record("a", "one")])
        past = backend.at("main")
        backend.update(record("a", "two"))
        assert past.get_record("a").content == "one"
        assert past.search([1, 0])[0][0].content == "one"
        assert backend.at("main~1").get_record("a").content == "one"
        assert past.count() == 1
        for write in (lambda: past.save([record("b")]), past.delete, past.reset):
            with pytest.raises(ReadOnlyError, match="past"):
                write()
        memory = Memory(storage=past, read_only=True, embedder=embed, llm=object())
        assert [m.record.content for m in memory.recall("xx", depth="shallow")] == ["one"]

    def test_undo_gives_the_old_record_back(self, backend):
        backend.save([record("a", "one")])
        backend.update(record("a", "two"))
        backend.repository.undo()
        assert backend.get_record("a").content == "one"
        assert len(backend.history("a")) == 3

    def test_branches_are_trials(self, backend):
        backend.save([record("a", "one")])
        trial = backend.on("trial")
        trial.update(record("a", "two"))
        assert (backend.get_record("a").content, trial.get_record("a").content) == ("one", "two")
        assert backend.on("trial").get_record("a").content == "two"
        assert MnemosyneStorageBackend(backend.repository, branch="trial").count() == 1

    def test_a_backend_on_a_new_branch_starts_from_main(self, backend, shared_url):
        backend.save([record("a", "one")])
        other = MnemosyneStorageBackend(shared_url, branch="fresh")
        assert other.get_record("a").content == "one"


class TestStore:
    def test_nothing_is_made_before_it_is_needed(self, shared_url):
        backend = MnemosyneStorageBackend(shared_url)
        backend.save([])
        assert not exists(shared_url)
        backend.save([record("a")])
        assert exists(shared_url)

    def test_the_spec_is_known_before_the_store_is_opened(self, shared_url):
        backend = MnemosyneStorageBackend(shared_url)
        spec = backend.spec
        assert not exists(shared_url)
        backend.save([record("a")])
        assert backend.spec == spec == f"mnemosyne+{backend.repository.url}"
        assert MnemosyneStorageBackend(backend.repository).spec == spec

    def test_records_lie_under_their_scope(self, backend):
        backend.save([record("a/b%", scope="//team//x/"), record("c", scope="")])
        assert list(backend.repository.at()) == ["/c", "/team/x/a%2Fb%25"]
        assert backend.get_record("a/b%").scope == "//team//x/"

    def test_a_scope_that_is_too_long_for_a_key_is_refused_whole(self, backend):
        with pytest.raises(ValidationError, match="bytes of UTF-8"):
            backend.save([record("good"), record("a", scope="/" + "é" * 3000)])
        assert backend.count() == 0

    def test_bad_metadata_names_the_record_and_the_place(self, backend):
        with pytest.raises(ValidationError, match=r"'/a'\.metadata\.x\[1\] is a set"):
            backend.save([record("good"), record("a", metadata={"x": [1, {2}]})])
        with pytest.raises(ValidationError, match="metadata has the key 1"):
            numbered = record("a")
            numbered.metadata = {1: 2}
            backend.save([numbered])
        with pytest.raises(ValidationError, match=r"embedding of '/a'.*not finite"):
            backend.save([record("a", vector=[float("nan"), 1])])
        assert backend.count() == 0

    def test_the_dimension_is_that_of_the_branch(self, backend, shared_url):
        backend.save([record("plain", vector=None)])
        backend.save([record("a", vector=[1, 2, 3])])
        again = MnemosyneStorageBackend(shared_url)
        with pytest.raises(EmbeddingDimensionMismatchError) as caught:
            again.save([record("b", vector=[1, 2])])
        assert (caught.value.stored_dim, caught.value.new_dim) == (3, 2)
        backend.reset()
        again.save([record("b", vector=[1, 2])])
        assert backend.search([1, 2])[0][0].id == "b"

    def test_a_save_without_embeddings_does_not_change_the_dimension(self, backend):
        backend.save([record("a", vector=(1.0, 0.0))])
        backend.save([record("b", vector=None)])
        with pytest.raises(EmbeddingDimensionMismatchError):
            backend.save([record("c", vector=(1.0, 0.0, 0.0))])

    def test_first_saves_of_two_dimensions_cannot_both_land(self, backend, shared_url):
        other = MnemosyneStorageBackend(shared_url)
        barrier = threading.Barrier(2)
        outcomes: list[object] = []

        def save(storage: MnemosyneStorageBackend, id: str, dimension: int) -> None:
            barrier.wait()
            try:
                storage.save([record(id, vector=[1.0] * dimension)])
                outcomes.append(id)
            except EmbeddingDimensionMismatchError as error:
                outcomes.append(error)

        threads = [
            threading.Thread(target=save, args=each)
            for each in ((backend, "x", 2), (other, "y", 3))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(each, str) for each in outcomes) == 1
        assert backend.count() == 1

    def test_an_id_saved_at_once_in_two_scopes_stays_unique(self, backend, shared_url):
        other = MnemosyneStorageBackend(shared_url)
        barrier = threading.Barrier(2)

        def save(storage: MnemosyneStorageBackend, scope: str) -> None:
            for i in range(15):
                barrier.wait()
                storage.save([record(f"r{i}", scope=scope)])

        threads = [
            threading.Thread(target=save, args=each) for each in ((backend, "/x"), (other, "/y"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert backend.count() == 15
        assert sorted(r.id for r in backend.list_records()) == sorted(f"r{i}" for i in range(15))

    def test_other_records_on_the_branch_are_left_alone(self, backend):
        backend.repository.put("notes/1", "not CrewAI's", embedding=[1, 0])
        backend.save([record("a")])
        assert backend.count() == 1
        assert [r.id for r, _ in backend.search([1, 0])] == ["a"]
        assert [r.id for r in backend.list_records()] == ["a"]
        assert backend.get_scope_info("/").record_count == 1
        assert backend.get_record("1") is None
        assert backend.delete() == 1
        backend.reset()
        assert list(backend.repository.at()) == ["notes/1"]


class TestSearch:
    def test_recall_is_exact_for_vectors_of_any_length(self, backend):
        rng = np.random.default_rng(11)
        vectors = rng.standard_normal((2000, 64)) * rng.uniform(0.1, 10, (2000, 1))
        vectors = vectors.astype(np.float32).astype(float)
        backend.save(
            [record(f"{i}", vector=v, categories=[f"c{i % 5}"]) for i, v in enumerate(vectors)]
        )
        for query in rng.standard_normal((20, 64)).astype(np.float32).astype(float):
            cosine = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
            best = np.argsort(-cosine)[:10]
            found = backend.search(query.tolist(), min_score=-1)
            assert [int(r.id) for r, _ in found] == best.tolist()
            assert [s for _, s in found] == pytest.approx(cosine[best].tolist(), abs=1e-9)
            filled = backend.search(query.tolist(), categories=["c3"], limit=20, min_score=-1)
            assert len(filled) == 20

    def test_private_records_of_every_source_are_returned(self, backend):
        backend.save(
            [
                record("open"),
                record("mine", private=True, source="me"),
                record("theirs", private=True, source="them"),
                record("nobody", private=True),
            ]
        )
        everyone = {"open", "mine", "theirs", "nobody"}
        assert {r.id for r, _ in backend.search([1, 0])} == everyone
        assert {r.id for r in backend.list_records()} == everyone

    @pytest.mark.parametrize("depth", ["shallow", "deep"])
    def test_crewai_recall_hides_private_records_from_others(self, backend, depth):
        vector = embed(["question"])[0]
        backend.save(
            [
                record("open", "o", vector),
                record("mine", "m", vector, private=True, source="me"),
                record("theirs", "t", vector, private=True, source="them"),
            ]
        )
        memory = Memory(storage=backend, embedder=embed, llm=object())

        def recalled(**who: object) -> set[str]:
            return {m.record.id for m in memory.recall("question", depth=depth, **who)}

        assert recalled() == {"open"}
        assert recalled(source="me") == {"open", "mine"}
        assert recalled(include_private=True) == {"open", "mine", "theirs"}


class TestProcess:
    def test_copies_share_the_store(self, backend):
        assert copy.deepcopy(backend) is backend
        backend.save([record("a")])
        again = pickle.loads(pickle.dumps(backend))
        assert again.get_record("a").content == "text"
        assert (again.branch, again.author) == ("main", "crew-test")
        past = pickle.loads(pickle.dumps(backend.at("main")))
        backend.reset()
        assert (past.count(), again.count()) == (1, 0)
        with pytest.raises(TypeError, match="memory"):
            pickle.dumps(MnemosyneStorageBackend("memory://"))

    def test_closing_is_not_the_end(self, backend):
        backend.save([record("a")])
        backend.close()
        backend.close()
        backend.save([record("b")])
        assert backend.count() == 2

    def test_register_answers_every_default_memory(self, registered, shared_url, new_url):
        assert resolve_memory_storage("lancedb") is registered
        assert resolve_memory_storage(f"mnemosyne+{shared_url}") is registered
        assert resolve_memory_storage("qdrant-edge") is None
        spec = f"mnemosyne+{new_url()}#trial"
        other = resolve_memory_storage(spec)
        assert other.branch == "trial"
        assert other is resolve_memory_storage(spec)
        assert not exists(shared_url)
        memory = Memory(embedder=embed, llm=object())
        memory.remember("hello", scope="/s", categories=["c"], importance=0.5)
        assert registered.count("/s") == 1

    def test_register_keeps_the_factory_before_it(self, new_url):
        mine = object()
        set_memory_storage_factory(lambda spec: mine if spec == "other" else None)
        try:
            register(new_url())
            later = register(new_url())
            assert resolve_memory_storage("other") is mine
            assert resolve_memory_storage("lancedb") is later
            unregister()
            assert resolve_memory_storage("lancedb") is None
            assert resolve_memory_storage("other") is mine
            unregister()
            assert resolve_memory_storage("other") is mine
        finally:
            set_memory_storage_factory(None)

    def test_a_checkpoint_holds_the_spec_and_opens_the_store_again(self, registered):
        registered.save([record("a", "kept")])
        memory = Memory(
            storage=registered.on("trial"),
            embedder={"provider": "openai", "config": {"model": "none"}},
            llm="gpt-5.4-mini",
        )
        dumped = memory.model_dump(mode="json")
        assert dumped["storage"] == f"mnemosyne+{registered.repository.url}#trial"
        again = Memory.model_validate_json(memory.model_dump_json())
        assert again._storage.get_record("a").content == "kept"
        assert memory.model_dump()["storage"] is memory.storage

    def test_a_spec_of_the_past_stays_in_the_past(self, registered):
        registered.save([record("a", "one")])
        past = registered.at("main")
        registered.update(record("a", "two"))
        assert resolve_memory_storage(past.spec).get_record("a").content == "one"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_forked_child_saves_and_the_parent_sees_it(self, backend):
        backend.save([record("a")])
        child = os.fork()
        if child == 0:
            try:
                backend.save([record("b")])
                backend.search([1, 0])
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        backend.save([record("c")])
        assert {r.id for r, _ in backend.search([1, 0])} == {"a", "b", "c"}


class TestApartFromAnyStore:
    def test_importing_mnemosyne_imports_no_framework(self):
        code = (
            "import sys, mnemosyne_vcs, mnemosyne_vcs.cli, mnemosyne_vcs.testing\n"
            "bad = {'crewai', 'lancedb', 'pyarrow', 'chromadb', 'numpy'} & set(sys.modules)\n"
            "assert not bad, bad"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_what_cannot_be_opened_is_named(self, tmp_path):
        directory = tmp_path / "dir.mnem"
        directory.mkdir()
        text = tmp_path / "text.mnem"
        text.write_text("hello, this is no database\n" * 40)
        for bad in (directory, text):
            with pytest.raises((EngineError, mnemosyne_vcs.CorruptObjectError), match=bad.name):
                MnemosyneStorageBackend(bad).count()
        assert text.read_text().startswith("hello")


def test_half_a_clone_does_not_become_an_empty_memory(tmp_path):
    path = tmp_path / "half.mnem"
    whole = MnemosyneStorageBackend(tmp_path / "whole.mnem")
    whole.save([record("a")])
    sent = whole.repository.blocks.read([EMPTY_ROOT, ROOT_COMMIT.cid])
    open_engine(path, create=True).write(sent)
    half = MnemosyneStorageBackend(path)
    for _ in range(2):
        with pytest.raises(CorruptObjectError, match="run the same clone again"):
            half.save([record("b")])
    mnemosyne_vcs.clone(tmp_path / "whole.mnem", path).close()
    assert half.count() == 1
    half.save([record("b")])
    assert half.count() == 2


BAD_URLS = [
    "~/crew.mnem",
    "$HOME/crew.mnem",
    "crew.mnem\r",
    "'s3://bucket/crew'",
    '"postgresql://agent@db/memory?repository=support"',
    "data/",
    None,
    b"crew.mnem",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_was_meant_otherwise_is_refused_at_once(registered, url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (register, MnemosyneStorageBackend):
        with pytest.raises(ValidationError):
            use(url)
    assert resolve_memory_storage("lancedb") is registered
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spec", ["mnemosyne+~/crew.mnem", "'mnemosyne+crew.mnem'", " mnemosyne+x"])
def test_a_spec_that_was_meant_otherwise_is_refused(registered, spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValidationError):
        resolve_memory_storage(spec)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_at_any_instant_costs_nothing(shared_url: str):
    def work(backend: MnemosyneStorageBackend, id: str) -> None:
        backend.save([record(id)])
        assert backend.search([1.0, 0.0], limit=1)

    work(MnemosyneStorageBackend(shared_url), "first")
    count = instants(lambda: work(MnemosyneStorageBackend(shared_url), "second"))
    chance, kept = random.Random("interrupts"), []
    for at in chance.sample(range(1, count + 1), 40):
        backend = MnemosyneStorageBackend(shared_url)
        try:
            interrupt(lambda backend=backend: work(backend, "broken off"), at)
        except Interrupted as interrupted:
            kept.append(interrupted)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(work, backend, f"after {at}").result(60)
        backend.close()
    assert len(kept) > 30
    assert MnemosyneStorageBackend(shared_url).count() in (42, 43)
    assert mnemosyne_vcs.open(shared_url).verify().ok
