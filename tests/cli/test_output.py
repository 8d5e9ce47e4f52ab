"""What holds of the output of every verb that looks."""

import json

import mnemosyne_vcs

from .conftest import PLAN


def test_stored_text_cannot_steer_a_terminal(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("evil", "\x1b[2J\x9b gone", message="\x1b]0;title\x07", author="\x1b[5m")

    for arguments in (("log",), ("show",), ("show", ":evil"), ("ls", "-rl"), ("why", "evil"),
                      ("status",), ("show", ":evil", "--json")):  # fmt: skip
        text = mnem(*arguments).stdout
        assert not {"\x1b", "\x9b", "\x07"} & set(text)


def test_json_keeps_every_character(mnem, store):
    with mnemosyne_vcs.open(store.path) as repo:
        repo.put("text", "tab\t esc\x1b del\x7f c1\x9b é 🧠")

    assert json.loads(mnem("show", ":text", "--json").stdout)["content"] == (
        "tab\t esc\x1b del\x7f c1\x9b é 🧠"
    )


def test_looking_never_writes(mnem, store):
    def kept():
        files = [store.path, *store.path.parent.glob("memory.mnem-wal")]
        return {file.name: file.read_bytes() for file in files}

    mnem("status")
    before = kept()
    for arguments in (("log", "--key", PLAN), ("why", PLAN), ("show",), ("ls",), ("verify",),
                      ("search", "--like", PLAN)):  # fmt: skip
        mnem(*arguments)
    assert kept() == before


def test_they_load_neither_numpy_nor_rich(here, store):
    from .test_process import LOADED, loaded

    for arguments in (["log", "--graph"], ["blame", PLAN], ["log", "--agent", "Account reviewer"],
                      ["grep", "is on"]):  # fmt: skip
        assert not {"numpy", "rich"} & loaded(LOADED, *arguments)
