"""Databases whose default isolation is stricter than what the engine needs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import mnemosyne_vcs


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_writers_of_a_branch_take_their_turns(server, level):
    database = f"isolated_{level.replace(' ', '_')}"
    server.execute("postgres", f"CREATE DATABASE {database}")
    try:
        server.execute(
            "postgres", f"ALTER DATABASE {database} SET default_transaction_isolation = '{level}'"
        )
        with mnemosyne_vcs.open(server.url("many", database), create=True) as repo:

            def write(thread: int) -> None:
                for number in range(10):
                    repo.put(f"{thread}/{number}", number)

            with ThreadPoolExecutor(4) as pool:
                list(pool.map(write, range(4)))
            assert len(repo.at()) == 40
            assert repo.verify().ok
    finally:
        server.execute("postgres", f"DROP DATABASE {database} WITH (FORCE)")
