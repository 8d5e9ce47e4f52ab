"""Hosts on one machine: network namespaces, each joined to this one by a wire of its own."""

import os
import shutil
import subprocess
from ipaddress import IPv4Address

IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
FIRST = IPv4Address("198.18.0.0")  # of the addresses that are set aside for tests of networks
WIRES = 1 << 15


class NoHosts(Exception):
    """This machine, or this user, makes no network namespaces."""


class Host:
    """A host of its own, until it is removed.

    Args:
        number: tells it from the other hosts of this process.

    Attributes:
        gateway: the address of this machine, as the host reaches it.
        within: what runs a command on the host.

    Raises:
        NoHosts: there can be none.
    """

    def __init__(self, number: int) -> None:
        self._name = f"mn{os.getpid()}x{number}"
        self._wire = f"{self._name}w"
        first = FIRST + 4 * ((os.getpid() * 8 + number) % WIRES)
        self.gateway, address = str(first + 1), str(first + 2)
        if IP is None or os.getuid() != 0:
            raise NoHosts("network namespaces need root, and `ip` of iproute2")
        self.within = [IP, "netns", "exec", self._name]
        try:
            self._ip("netns", "add", self._name)
            there = ["peer", "name", "eth0", "netns", self._name]
            self._ip("link", "add", self._wire, "type", "veth", *there)
            self._ip("address", "add", f"{self.gateway}/30", "dev", self._wire)
            self._ip("link", "set", self._wire, "up")
            self._ip("-n", self._name, "address", "add", f"{address}/30", "dev", "eth0")
            self._ip("-n", self._name, "link", "set", "eth0", "up")
        except subprocess.CalledProcessError as error:
            self.remove()
            raise NoHosts(f"no network namespaces here: {error.stderr.strip()}") from error

    def remove(self) -> None:
        """Take it off the machine, with its wire, as far as it was made."""
        for what in (["link", "delete", self._wire], ["netns", "delete", self._name]):
            subprocess.run([IP, *what], check=False, capture_output=True)

    def _ip(self, *arguments: str) -> None:
        subprocess.run([IP, *arguments], check=True, capture_output=True, text=True)
