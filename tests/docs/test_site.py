"""The built site in a browser: every table can be seen whole."""

import functools
import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH = 1300

MEASURE = """<!doctype html><html><body><script>
const pages = PAGES;
const found = {};
async function show(page) {
  const frame = document.createElement("iframe");
  frame.style = "width: WIDTHpx; height: 900px; border: 0";
  frame.src = "/" + page;
  document.body.append(frame);
  await new Promise(done => frame.onload = done);
  const inside = frame.contentDocument;
  const cut = [...inside.querySelectorAll(".md-typeset__scrollwrap, .md-content, html")]
    .filter(box => box.scrollWidth > box.clientWidth)
    .map(box => `${box.className || box.tagName}: ${box.scrollWidth} > ${box.clientWidth} px`);
  found[page] = {cut, tables: inside.querySelectorAll(".md-typeset__scrollwrap table").length};
  frame.remove();
}
(async () => {
  const left = pages.values();
  const worker = async () => { for (const page of left) await show(page); };
  await Promise.all([worker(), worker(), worker(), worker()]);
  await fetch("/", {method: "POST", body: JSON.stringify(found)});
})();
</script></body></html>"""


@pytest.fixture(scope="module")
def browser() -> str:
    names = [os.environ.get("MNEM_TEST_BROWSER", ""), *NAMES]
    found = [path for path in map(shutil.which, filter(None, names)) if path]
    if not found:
        pytest.skip("needs Chromium on the PATH, or its path in MNEM_TEST_BROWSER")
    return found[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        check=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    return folder


class _Server(http.server.ThreadingHTTPServer):
    """Serves a folder, and keeps what a page sends back."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))
        self.results: queue.Queue[bytes] = queue.Queue()


class _Handler(http.server.SimpleHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.results.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[_Server]:
    with _Server(site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_no_table_loses_a_column(browser: str, site: Path, server: _Server, tmp_path: Path):
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    text = MEASURE.replace("PAGES", json.dumps(pages)).replace("WIDTH", str(WIDTH))
    (site / "measure.html").write_text(text)
    options = [
        "--headless",
        "--no-sandbox",
        "--remote-debugging-port=0",
        "--no-proxy-server",
        f"--user-data-dir={tmp_path}",
        f"--window-size={WIDTH + 100},1000",
    ]
    with subprocess.Popen(
        [browser, *options, f"http://127.0.0.1:{server.server_port}/measure.html"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            found = json.loads(server.results.get(timeout=300))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert sorted(found) == pages
    assert found["benchmarks/index.html"]["tables"] > 0
    assert {page: of["cut"] for page, of in found.items() if of["cut"]} == {}
