"""`compose.yaml`, read as Compose reads it, and the guide that goes with it."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
GUIDE = (ROOT / "docs" / "guide" / "run-postgresql.md").read_text()


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load(TEXT)


@pytest.fixture(scope="module")
def postgres(compose):
    return compose["services"]["postgres"]


@pytest.fixture(scope="module")
def settings(postgres):
    server, *options = postgres["command"]
    assert server == "postgres"
    return dict(option.removeprefix("--").split("=", 1) for option in options)


def test_it_is_postgresql_18_with_pgvector(postgres):
    assert postgres["image"] == "pgvector/pgvector:pg18"


def test_it_does_not_start_without_a_password(postgres):
    password = postgres["environment"]["POSTGRES_PASSWORD"]
    assert re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?.+\}", password)


def test_it_serves_this_machine_only(postgres):
    assert postgres["ports"] == ["127.0.0.1:${POSTGRES_PORT:-5432}:5432"]


def test_its_data_outlive_the_container(compose, postgres):
    assert postgres["volumes"] == ["data:/var/lib/postgresql"]
    assert list(compose["volumes"]) == ["data"]


def test_an_acknowledged_commit_is_durable(settings):
    assert settings["synchronous_commit"] == "on"
    assert not settings.keys() & {"fsync", "full_page_writes"}


def test_a_write_may_wait_for_its_turn(settings):
    assert not settings.keys() & {"statement_timeout", "lock_timeout"}
    assert settings["idle_in_transaction_session_timeout"] == "10min"


def test_it_is_healthy_once_it_answers_over_the_network(postgres):
    kind, program, *options = postgres["healthcheck"]["test"]
    environment = postgres["environment"]
    assert (kind, program) == ("CMD", "pg_isready")
    assert "--host=127.0.0.1" in options
    assert f"--username={environment['POSTGRES_USER']}" in options
    assert f"--dbname={environment['POSTGRES_DB']}" in options


@pytest.mark.parametrize("page", [TEXT, GUIDE], ids=["its comment", "the guide"])
def test_the_url_that_is_shown_reaches_it(postgres, page):
    [shown] = re.findall(r"postgresql://mnemosyne@[^'\s]+", page)
    url = urlsplit(shown)
    assert url.username == postgres["environment"]["POSTGRES_USER"]
    assert url.path == f"/{postgres['environment']['POSTGRES_DB']}"
    assert (url.hostname, url.port) == ("127.0.0.1", 5432)
    assert "export POSTGRES_PASSWORD=" in page and "PGPASSWORD" in page


def test_the_guide_reckons_with_its_connections(settings):
    assert f"`max_connections={settings['max_connections']}`" in GUIDE
