"""A store that speaks S3, but for conditions: it heeds none, or only that nothing is there."""

import hashlib
import http.server
import re
from threading import Thread
from urllib.parse import urlsplit


class Conditionless:
    """Serves objects until it is closed.

    Args:
        heeds: the headers with conditions on a put that it knows.
    """

    def __init__(self, *heeds):
        self.objects = {}
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                path = urlsplit(self.path).path
                heeded = "If-None-Match" in heeds and "If-None-Match" in self.headers
                if heeded and path in store.objects:
                    self._answer(412, "PreconditionFailed")
                    return
                store.objects[path] = data
                self._answer(200, tag=data)

            def do_GET(self):
                data = store.objects.get(urlsplit(self.path).path)
                if data is None:
                    self._answer(404, "NoSuchKey")
                else:
                    self._answer(200, data=data, tag=data)

            def do_POST(self):
                wanted = self.rfile.read(int(self.headers["Content-Length"])).decode()
                keys = re.findall("<Key>(.*?)</Key>", wanted)
                for key in keys:
                    del store.objects[f"/agents/{key}"]
                deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
                self._answer(200, data=f"<DeleteResult>{deleted}</DeleteResult>".encode())

            def _answer(self, status, code="", data=b"", tag=None):
                if code:
                    data = f"<Error><Code>{code}</Code></Error>".encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Last-Modified", self.date_time_string())
                if tag is not None:
                    self.send_header("ETag", f'"{hashlib.md5(tag).hexdigest()}"')
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
