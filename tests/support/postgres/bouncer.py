"""PgBouncer in transaction mode before a server: each transaction gets another connection."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

from postgres.server import PASSWORD, free_port, other_user

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool}
server_round_robin = 1
"""


class Bouncer:
    """A PgBouncer on a free loopback port.

    Args:
        server: the server behind it.
        pool: how many connections to the server all clients share.
    """

    def __init__(self, server, pool=6):
        self._server = server
        self.port = free_port()
        self._directory = Path(tempfile.mkdtemp(prefix="mnemosyne-pgbouncer-"))
        self._directory.chmod(0o755)
        users = self._directory / "users"
        users.write_text(f'"postgres" "{PASSWORD}"\n')
        settings = self._directory / "pgbouncer.ini"
        settings.write_text(
            CONFIGURATION.format(server=server.port, port=self.port, users=users, pool=pool)
        )
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, settings], stdout=log, stderr=log, cwd=self._directory, **other_user()
            )
        self._until_it_answers()

    def _until_it_answers(self):
        while True:
            try:
                psycopg.connect(self.dsn("postgres"), password=PASSWORD).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self._directory / "log").read_text()

    def dsn(self, database):
        return self._server.dsn(database, self.port)

    def url(self, repository):
        return self._server.url(repository, port=self.port)

    def remove(self):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._directory)
