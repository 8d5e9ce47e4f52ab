"""How a notebook shows the values that have `_repr_html_`."""

from html.parser import HTMLParser

from mnemosyne_vcs import Provenance


class Table(HTMLParser):
    """The cells of the rows of a table."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags = [], set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.rows[-1][-1] += data


def test_a_snapshot_shows_its_first_records(repo):
    with repo.transaction() as tx:
        for n in range(30):
            tx.put(f"k/{n:02}", {"n": n}, provenance=Provenance(source="mail", agent="me"))

    rows = Table(repo.at()._repr_html_()).rows

    assert rows[0] == ["key", "content", "source", "agent"]
    assert rows[1] == ["k/00", '{"n": 0}', "mail", "me"]
    assert len(rows) == 22
    assert rows[-1][0] == "… and 10 more"


def test_a_commit_and_a_record_show_what_is_known(repo):
    commit = repo.put("a", "x", embedding=[1, 2], author="me", provenance=Provenance(source="mail"))

    assert ["author", "me"] in Table(commit._repr_html_()).rows
    assert ["id", commit.id] in Table(commit._repr_html_()).rows
    rows = Table(repo["a"]._repr_html_()).rows
    assert [row for row in rows if row[0] != "transaction_id"] == [
        ["key", "a"], ["content", "x"], ["vectors", "''"], ["source", "mail"]
    ]  # fmt: skip


def test_a_change_shows_both_sides(repo):
    repo.put("a", 1)
    repo.put("a", [2])
    (change,) = repo.diff("main~1")

    assert Table(change._repr_html_()).rows[1] == ["a", "changed", "1", "[2]"]


def test_text_of_a_record_is_not_taken_for_markup(repo):
    repo.put("a", "<script>alert(1)</script>\n\u202e", author="<b>me</b>")

    for html in (repo.at()._repr_html_(), repo["a"]._repr_html_(), repo.resolve()._repr_html_()):
        assert Table(html).tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert r"\n\u202e" in repo["a"]._repr_html_()


def test_a_long_cell_is_cut(repo):
    repo.put("a", "x" * 100_000)

    assert len(repo.at()._repr_html_()) < 2_000
