"""CrewAI without telemetry, traces, panels or log lines."""

import logging
import os
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from tempfile import TemporaryDirectory

__all__ = ["quiet_crewai"]

_SETTINGS = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}


@contextmanager
def quiet_crewai() -> Generator[None]:
    """Keep CrewAI silent and offline, and its own task store in a temporary directory.

    To be entered before crewai is first imported, which reads its settings then.

    Raises:
        ImportError: crewai is not installed.
    """
    logger = logging.getLogger("crewai")
    level = logger.level
    with (
        TemporaryDirectory(prefix="mnem-demo-") as scratch,
        _environment({**_SETTINGS, "CREWAI_STORAGE_DIR": scratch}),
        warnings.catch_warnings(),
    ):
        console = import_module("crewai.events.utils.console_formatter")
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        console.set_suppress_console_output(True)
        try:
            yield
        finally:
            console.set_suppress_console_output(False)
            logger.setLevel(level)


@contextmanager
def _environment(settings: Mapping[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
