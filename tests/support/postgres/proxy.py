"""A wire between client and server that counts round trips and bytes and can be cut."""

import socket
from threading import Lock, Thread


class Proxy:
    """Forwards connections to a local port.

    A round trip is anything that the client sends after the server has spoken. Cutting takes
    effect on the next request that holds the marker: `"request"` loses it on its way,
    `"answer"` lets the server do it and loses what it says.

    Args:
        port: where the server listens on this machine.
        address: where to listen for clients.
    """

    def __init__(self, port, address="127.0.0.1"):
        self._target = port
        self._listener = socket.create_server((address, 0))
        self.port = self._listener.getsockname()[1]
        self.round_trips = 0
        self.sent = 0
        self.received = 0
        self.cuts = 0
        self._lock = Lock()
        self._marker = None
        self._what = None
        self._wires = []
        Thread(target=self._accept, daemon=True).start()

    def cut(self, what, marker):
        self._what, self._marker = what, marker

    def sever(self):
        """Cut every connection that there is."""
        for wire in self._wires:
            wire.cut()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._wires.append(_Wire(self, client, server))
            self._wires[-1].start()

    def answered(self, data):
        with self._lock:
            self.received += len(data)

    def to_cut(self, data):
        with self._lock:
            self.sent += len(data)
            if self._marker is None or self._marker not in data:
                return None
            self._marker = None
            self.cuts += 1
            return self._what


class _Wire:
    def __init__(self, proxy, client, server):
        self._proxy, self._client, self._server = proxy, client, server
        self._server_spoke = True
        self._losing = False

    def start(self):
        Thread(target=self._pump, args=(self._requests,), daemon=True).start()
        Thread(target=self._pump, args=(self._answers,), daemon=True).start()

    def _pump(self, work):
        try:
            work()
        except OSError:
            pass
        finally:
            self.cut()

    def cut(self):
        for end in (self._client, self._server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def _requests(self):
        while data := self._client.recv(1 << 16):
            if self._server_spoke:
                self._proxy.round_trips += 1
                self._server_spoke = False
            what = self._proxy.to_cut(data)
            if what == "request":
                return
            self._losing = what == "answer" or self._losing
            self._server.sendall(data)

    def _answers(self):
        while data := self._server.recv(1 << 16):
            self._server_spoke = True
            self._proxy.answered(data)
            if self._losing:
                return
            self._client.sendall(data)
