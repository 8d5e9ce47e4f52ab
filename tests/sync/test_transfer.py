"""What travels between two stores: only what is missing, all of it checked, nothing half."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count, repeat

import pytest

import mnemosyne_vcs
from mnemosyne_vcs import (
    BusyError,
    CorruptObjectError,
    EngineError,
    NotFoundError,
    Repository,
    tree,
)
from mnemosyne_vcs.engine.capabilities import Capabilities
from mnemosyne_vcs.engine.memory import MemoryEngine
from mnemosyne_vcs.engine.protocol import RefUpdate
from mnemosyne_vcs.format.objects import (
    EMPTY_NODE,
    Node,
    decode_node,
    encode_commit,
    encode_node,
    is_vector,
    object_id,
    object_kind,
)
from mnemosyne_vcs.ids import parse_id, text_id
from mnemosyne_vcs.maintenance.strict import check_block
from mnemosyne_vcs.sync import transfer
from mnemosyne_vcs.sync.new_objects import additions
from mnemosyne_vcs.testing._peers import Disturbed, fresh
from mnemosyne_vcs.testing.faults import FaultyEngine
from mnemosyne_vcs.tree import EMPTY_ROOT
from peers import Asked, Lying, Overtaken, Plain, Watched, assert_complete, filled, objects, refs


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(transfer, "BATCH", 7)


class DisturbedLocks(FaultyEngine):
    """Calls a function before the lock is taken for the time whose number is given."""

    def __init__(self, engine, disturb, at):
        super().__init__(engine)
        self.disturb, self.at, self.locks = disturb, at, 0

    @contextmanager
    def exclusive(self):
        self.locks += 1
        if self.locks == self.at:
            self.disturb()
        with self.engine.exclusive():
            yield


class TestTheHistoryIndex:
    def test_it_knows_what_has_come(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        for commit in repo.log():
            assert copy.blocks.engine.indexed(commit.cid)
        for key in repo.at():
            mine, theirs = (set(each.blocks.engine.commits_of_key(key)) for each in (copy, repo))
            assert mine == theirs
            assert copy.blame(key).commit == repo.blame(key).commit

    def test_one_that_was_emptied_is_completed(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        engine = copy.blocks.engine
        engine.clear_index()
        repo.put("new", 1)
        copy.pull(repo)
        assert all(engine.indexed(commit.cid) for commit in repo.log())
        assert copy.blame("k/002").commit == repo.blame("k/002").commit


class TestOnlyWhatIsMissingTravels:
    def test_an_edit_sends_no_vector_again(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        before = objects(copy)
        repo.put("k/004", {"n": "edited"}, embedding=repo.at()["k/004"].embedding)
        sent = copy.fetch(repo)
        leaf_and_root = 2
        assert (sent.commits, sent.objects) == (1, 1 + 1 + leaf_and_root)
        new = objects(copy) - before
        assert sent.bytes == sum(map(len, copy.blocks.engine.read(new).values()))
        assert copy.fetch(repo).objects == 0

    def test_a_record_that_is_put_back_brings_its_vector(self):
        repo = fresh()
        repo.put("a", 1, embedding=[1, 2])
        repo.put("a", 2, embedding=[1, 2])
        repo.undo()
        copy = fresh()
        copy.pull(repo)
        assert copy.verify().ok
        assert copy.at()["a"].embedding.tolist() == [1, 2]

    def test_what_is_put_back_is_there_already(self):
        repo = filled()
        copy = mnemosyne_vcs.clone(repo, "memory://")
        before = repo.resolve()
        repo.delete("k/010")
        copy.fetch(repo)
        repo.undo()
        assert repo.resolve().tree == before.tree
        assert copy.fetch(repo).objects == 1

    def test_what_is_there_is_not_read_back(self):
        repo, copy = filled(), fresh()
        copy.fetch(repo)
        far = FaultyEngine(copy.blocks.engine, repeat("before"), calls=("read",))
        assert repo.push(Repository(far), "side").objects == 0

    def test_few_questions_are_asked_of_a_store_that_lacks_little(self):
        repo = fresh()
        for number in range(200):
            repo.put(f"k{number % 7}", number)
        copy = mnemosyne_vcs.clone(repo, "memory://")
        repo.put("one", 1)
        reading = Disturbed(copy.blocks.engine, lambda: None, at=())
        Repository(reading).fetch(repo)
        assert reading.reads < 10

    def test_little_of_the_source_is_read_if_little_is_missing(self):
        repo = filled(2000)
        for number in range(200):
            repo.put("k/0007", number)
        copy = mnemosyne_vcs.clone(repo, "memory://")
        repo.put("k/0007", "last")
        asked = Asked(repo.blocks.engine)
        copy.fetch(Repository(asked))
        read = repo.blocks.engine.read(asked.read_ids)
        kinds = Counter(object_kind(block, data) for block, data in read.items())
        assert kinds["commit"] < 100
        assert kinds["node"] < 12
        assert kinds["record"] == 2

    def test_what_is_missing_is_found_in_ever_larger_steps(self):
        repo, copy = fresh(), fresh()
        copy.pull(repo)
        for number in range(200):
            repo.put("a", number)
        asked = Disturbed(copy.blocks.engine, lambda: None, at=())
        lacking = transfer.missing(repo.blocks, Capabilities.of(asked), [repo.resolve().cid])
        assert [commit.id for commit in lacking] == [c.id for c in repo.log()][:200][::-1]
        assert asked.reads == 8

    def test_a_commit_adds_what_its_parents_lack(self):
        repo = filled(400)
        tree_of = {
            commit.cid: dict(tree.walk(repo.blocks.node, commit.tree_cid, set()))
            for commit in repo.log()
        }
        commits = list(repo.log())[:-1]
        for commit, added in zip(commits, additions(repo.blocks, commits), strict=True):
            before = {block for parent in commit.parent_cids for block in tree_of[parent]}
            new = {b: key for b, key in tree_of[commit.cid].items() if b not in before}
            assert added.nodes.keys() == {block for block, key in new.items() if key is None}
            assert added.records == {block for block, key in new.items() if key is not None}

    def test_progress_counts_all_that_is_looked_at(self):
        repo, seen = fresh(), []
        with repo.transaction() as tx:
            for number in range(1000):
                tx.put(f"k/{number}", number)
        sent = fresh(MemoryEngine()).fetch(repo, progress=seen.append)
        assert seen[-1] == sent.objects
        assert len(seen) == -(-sent.objects // transfer.BATCH)
        assert seen == sorted(seen)

    def test_tags_bring_commits_that_no_branch_reaches(self):
        repo = filled()
        repo.create_branch("other", revision="main~1")
        repo.put("far", 1, branch="other")
        repo.create_tag("far", revision="other")
        repo.delete_branch("other")
        assert mnemosyne_vcs.clone(repo, "memory://").at("far")["far"].content == 1
        assert mnemosyne_vcs.clone(repo, "memory://", branches=["main"]).tags().keys() == {"v1"}
        copy = fresh()
        assert copy.fetch(repo, branches=["main"]).tags.keys() == {"v1"}
        assert copy.fetch(repo).tags.keys() == {"far"}
        assert copy.verify().ok

    def test_few_questions_are_asked_of_the_source(self, tmp_path):
        with mnemosyne_vcs.open(tmp_path / "far.mnem", create=True) as repo:
            with repo.transaction() as tx:
                for number in range(300):
                    tx.put(f"k{number}", number, embedding=[1, number])
            for number in range(300):
                repo.put(f"k{number * 7 % 300}", -number)
            far = Disturbed(repo.blocks.engine, lambda: None, at=())
            sent = fresh().fetch(Repository(far))
            assert sent.commits == 301
            assert far.reads < sent.objects / 10

    def test_chosen_branches_and_their_tags(self):
        repo = filled()
        repo.create_branch("other", revision="main~1")
        repo.put("far", 1, branch="other")
        repo.create_tag("far", revision="other")
        copy = mnemosyne_vcs.clone(repo, "memory://", branches=["side"])
        assert copy.branches().keys() == {"side"}
        assert copy.tags().keys() == {"v1"}
        assert copy.fetch(repo).tags.keys() == {"far"}
        with pytest.raises(NotFoundError, match="none"):
            copy.fetch(repo, branches=["none"])


@pytest.mark.usefixtures("small_batches")
class TestBreakingOff:
    @pytest.mark.parametrize("fault", ["before", "after"])
    def test_at_every_write_and_going_on(self, fault):
        repo = filled()
        clean = Repository(FaultyEngine(MemoryEngine()))
        total = repo.push(clean).objects
        for number in count():
            engine = MemoryEngine()
            faulty = FaultyEngine(engine, [*[None] * number, fault])
            target = Repository(faulty)
            try:
                repo.push(target)
            except EngineError:
                assert engine.refs() == {}
                assert_complete(engine)
                faulty.schedule()
                already = len(set(engine.ids()))
                assert repo.push(target).objects == total - already
            assert target.branches() == {"main": repo.branches()["main"]}
            assert target.verify().ok
            assert set(engine.ids()) == set(clean.blocks.engine.ids())
            if not faulty.failed:
                break
        assert number >= total // 7 - 3

    def test_a_move_of_a_ref_whose_answer_is_lost_is_looked_for(self):
        repo = filled()
        plain = Watched(Plain())
        repo.push(Repository(plain))
        plain = FaultyEngine(Plain(), [*[None] * (plain.writes - 1), "after"])
        assert repo.push(Repository(plain)).branches == {"main": repo.resolve().id}
        assert plain.failed
        assert Repository(plain).branches() == {"main": repo.resolve().id}

    def test_garbage_is_collected_before_any_lock(self):
        repo = filled()
        for number in count(1):
            engine = MemoryEngine()
            collect = partial(Repository(engine).gc, keep_reflog=timedelta(0))
            locking = DisturbedLocks(engine, collect, number)
            repo.push(Repository(locking))
            assert Repository(engine).verify().ok
            assert dict(Repository(engine).at()) == dict(repo.at())
            if locking.locks < number:
                break
        assert number > 2

    def test_a_vector_that_was_there_is_collected_before_any_lock(self):
        repo = filled()
        vectors = [block for block in objects(repo) if is_vector(block)]
        for number in count(1):
            engine = MemoryEngine()
            engine.write(dict(repo.blocks.engine.read(vectors)))
            collect = partial(Repository(engine).gc, keep_reflog=timedelta(0))
            locking = DisturbedLocks(engine, collect, number)
            repo.push(Repository(locking))
            assert Repository(engine).verify().ok
            if locking.locks < number:
                break
        assert number > 2

    @pytest.mark.parametrize("records", range(7, 14))
    def test_a_tree_is_collected_between_it_and_its_commit(self, records):
        repo = filled()
        repo.create_branch("before")
        with repo.transaction() as tx:
            for number in range(records):
                tx.put(f"new/{number}", number)
        for number in count(1):
            engine = MemoryEngine()
            there = fresh(engine)
            there.pull(repo, "before")
            collect = partial(there.gc, keep_reflog=timedelta(0))
            locking = DisturbedLocks(engine, collect, number)
            repo.push(Repository(locking), "main")
            assert Repository(engine).verify().ok
            if locking.locks < number:
                break
        assert number > 2

    def test_garbage_is_collected_at_any_moment(self):
        repo = filled()
        for number in count(1):
            engine = MemoryEngine()
            collect = partial(Repository(engine).gc, keep_reflog=timedelta(0))
            disturbed = Disturbed(engine, collect, {number})
            repo.push(Repository(disturbed))
            assert Repository(engine).verify().ok
            assert dict(Repository(engine).at()) == dict(repo.at())
            if disturbed.reads < number:
                break
        assert number >= 20

    def test_what_is_collected_before_a_turn_at_the_lock_is_sent_again(self):
        """The last turn is that in which the refs move: what they will name must be there then."""
        repo = filled()
        for number in count(1):
            memory = MemoryEngine()
            there = fresh(memory)
            engine = Overtaken(memory, partial(there.gc, keep_reflog=timedelta(0)), {number})
            repo.push(Repository(engine), "side")
            assert there.verify().ok
            assert there.branches()["side"] == repo.branches()["side"]
            if engine.turns < number:
                break
        assert number > 3

    def test_garbage_is_collected_all_the_time(self):
        engine = MemoryEngine()
        collect = partial(Repository(engine).gc, keep_reflog=timedelta(0))
        disturbed = Disturbed(engine, collect, range(10**6))
        with pytest.raises(BusyError, match="garbage"):
            filled().push(Repository(disturbed))
        assert engine.refs() == {}

    def test_a_clone_that_is_interrupted_goes_on(self, tmp_path):
        repo, seen = filled(), []

        def interrupt(done):
            seen.append(done)
            if len(seen) == 10:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mnemosyne_vcs.clone(repo, tmp_path / "copy.mnem", progress=interrupt)
        with mnemosyne_vcs.open(tmp_path / "copy.mnem", read_only=True) as half:
            assert half.branches() == {}
            assert 0 < len(objects(half)) < len(objects(repo))
        with mnemosyne_vcs.clone(repo, tmp_path / "copy.mnem") as copy:
            assert refs(copy) == refs(repo)
            assert copy.verify().ok

    def test_a_clone_from_a_damaged_store_goes_on(self, tmp_path):
        repo = filled()
        vector = next(b for b in objects(repo) if is_vector(b))
        lying = Repository(Lying(repo.blocks.engine, vector))
        with pytest.raises(CorruptObjectError):
            mnemosyne_vcs.clone(lying, tmp_path / "copy.mnem")
        with mnemosyne_vcs.clone(repo, tmp_path / "copy.mnem") as copy:
            assert refs(copy) == refs(repo)
            assert copy.verify().ok


def sound(data):
    try:
        return check_block(object_id(data), data) == "node"
    except CorruptObjectError:
        return False


class TestWhatIsReceivedIsChecked:
    @pytest.mark.parametrize("kind", ["record", "node", "commit", "vector"])
    def test_damaged_bytes(self, kind):
        repo = filled()
        for block in sorted(objects(repo)):
            data = repo.blocks.read_one(block)
            if block == EMPTY_ROOT or kind != (
                "vector" if is_vector(block) else object_kind(block, data)
            ):
                continue
            copy = fresh()
            before = dict(copy.blocks.engine.refs())
            with pytest.raises(CorruptObjectError, match=text_id(block)):
                copy.fetch(Repository(Lying(repo.blocks.engine, block)))
            assert copy.blocks.engine.refs() == before
            assert_complete(copy.blocks.engine)
            return
        raise AssertionError(f"no {kind}")

    def refused(self, repo, data, message, more=()):
        head = object_id(data)
        written = {head: data, **{object_id(each): each for each in more}}
        old = repo.blocks.engine.ref("branch/main")
        repo.blocks.engine.write(written, RefUpdate("branch/main", old, head))
        copy = fresh()
        before = refs(copy)
        with pytest.raises(CorruptObjectError, match=message):
            copy.pull(Repository(repo.blocks.engine))
        assert refs(copy) == before
        assert_complete(copy.blocks.engine)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"generation": 99}, "does not follow"),
            ({"generation": 1}, "does not follow"),
            ({"timestamp_ms": 1}, "does not follow"),
            ({"parents": (), "generation": 0}, "not the root commit"),
            ({"transaction_id": "x" * 32}, "hex"),
        ],
    )
    def test_a_commit_that_does_not_follow(self, change, message):
        repo = filled()
        head = repo.resolve()
        child = {"parents": (head.id,), "generation": head.generation + 1}
        self.refused(repo, encode_commit(replace(head, **(child | change))), message)

    def test_bytes_that_are_not_canonical(self):
        repo = filled()
        data = encode_commit(repo.resolve())
        generation = repo.resolve().generation
        short = b"jgeneration" + bytes([generation])
        assert short in data
        longer = data.replace(short, b"jgeneration\x18" + bytes([generation]))
        self.refused(repo, longer, "canonical")

    def on_tree(self, repo, *nodes):
        head = repo.resolve()
        blocks = [encode_node(node) for node in nodes]
        child = replace(
            head,
            parents=(head.id,),
            generation=head.generation + 1,
            tree=text_id(object_id(blocks[0])),
        )
        return encode_commit(child), blocks

    def test_nodes_that_are_no_tree(self):
        repo = filled(200)
        root = repo.blocks.node(repo.resolve().tree_cid)
        assert root.level == 1
        first = decode_node(root.links[0], repo.blocks.read_one(root.links[0]))
        more, fewer = ((root.counts[0] + by, *root.counts[1:]) for by in (1, -1))
        swapped = (root.links[1], root.links[0], *root.links[2:])
        empty = object_id(encode_node(EMPTY_NODE))
        wrong = [
            replace(root, counts=more),
            replace(root, counts=fewer),
            replace(root, keys=(first.keys[-2], *root.keys[1:])),
            replace(root, links=swapped),
            replace(root, links=(empty, *root.links[1:])),
            Node(1, root.keys[:1], root.links[:1], root.counts[:1]),
            Node(0, first.keys, (parse_id(repo.resolve().id), *first.links[1:]), ()),
        ]
        for node in wrong:
            again = fresh()
            again.pull(repo)
            data, blocks = self.on_tree(again, node)
            self.refused(again, data, "agree|one child|level|more than|record", blocks)

    def test_a_node_that_leaves_out_a_level(self):
        repo = filled(200)
        root = repo.blocks.node(repo.resolve().tree_cid)
        data, blocks = self.on_tree(repo, Node(2, root.keys, root.links, root.counts))
        self.refused(repo, data, "is at level 0, and its parent at 2", blocks)

    def test_a_node_that_reaches_into_its_neighbour(self):
        repo = filled(200)
        root = repo.blocks.node(repo.resolve().tree_cid)
        first, second = (repo.blocks.node(link) for link in root.links[:2])
        for number in count():
            key = f"{second.keys[0]}{number}"
            leaf = encode_node(Node(0, (*first.keys[:-1], key), first.links, ()))
            links = (object_id(leaf), *root.links[1:])
            above = Node(1, (key, *root.keys[1:]), links, root.counts)
            if sound(leaf) and sound(encode_node(above)):
                break
        data, blocks = self.on_tree(repo, above)
        self.refused(repo, data, "agree", [*blocks, leaf])

    def test_a_merge_that_takes_nodes_of_both_sides_which_overlap(self):
        """Both entries are known to be right, but not that the second begins after the first."""
        repo = filled(200)
        root = repo.blocks.node(repo.resolve().tree_cid)
        repo.create_branch("other")
        repo.delete(root.keys[0], branch="other")
        repo.put("z", 1)
        ours, theirs = (repo.resolve(name) for name in ("main", "other"))
        top, other = (repo.blocks.node(commit.tree_cid) for commit in (ours, theirs))
        assert other.keys[0] > top.keys[0]
        both = Node(
            1,
            (top.keys[0], *other.keys),
            (top.links[0], *other.links),
            (top.counts[0], *other.counts),
        )
        block = encode_node(both)
        assert sound(block)
        child = replace(
            ours,
            parents=(ours.id, theirs.id),
            generation=ours.generation + 1,
            tree=text_id(object_id(block)),
        )
        self.refused(repo, encode_commit(child), "agree", [block])

    def test_an_object_that_the_source_lacks(self):
        repo = filled()
        block = next(b for b in objects(repo) if is_vector(b))
        repo.blocks.engine.delete([block])
        copy = fresh()
        with pytest.raises(NotFoundError, match=text_id(block)):
            copy.pull(repo)
        assert refs(copy) == refs(fresh())
