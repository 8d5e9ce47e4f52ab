"""CrewAI without network, telemetry or traces, in a home of its own."""

import os
import socket
import tempfile

import pytest

_home = tempfile.TemporaryDirectory(prefix="crewai-home-")
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_VERSION_CHECK="true",
    CREWAI_STORAGE_DIR=_home.name,
    CREWAI_TRACING_ENABLED="false",
    HOME=_home.name,
    OTEL_SDK_DISABLED="true",
)


@pytest.fixture(autouse=True, scope="module")
def no_network():
    def refuse(*args, **kwargs):
        raise OSError(f"a test tried to use the network: {args[-1:]}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket.socket, "connect_ex", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield
