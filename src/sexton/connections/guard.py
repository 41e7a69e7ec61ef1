"""Decides which addresses and files a job may make a worker use.

A guard resolves a name, checks all its addresses, and connects to a checked address. So a name cannot change
its address between the check and the connection. Every client that connects to a host of a job takes its
address, its resolver or its sockets from a `Guard`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from sexton.connections.address import FILES, Address
from sexton.connections.tls import PEM
from sexton.errors import InvalidField

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

REFUSED = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this network; on many systems, this machine
            "169.254.0.0/16",  # link-local; the metadata services of most clouds
            "100.100.100.200/32",  # Alibaba's
            "192.0.0.192/32",  # Oracle's
            "168.63.129.16/32",  # Azure's
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "::/128",
            "::/96",  # IPv4 in IPv6, as it was before ::ffff:0:0/96
            "::ffff:0:0:0/96",  # IPv4 in IPv6 for translators
            "64:ff9b:1::/48",  # NAT64 of a local kind: only the network knows what is behind it
            "2001::/32",  # Teredo
            "2002::/16",  # 6to4
            "fd00:ec2::/32",  # Amazon's metadata on IPv6
            "fd20:ce::/32",  # Google's
            "fd00:c1::/32",  # Oracle's
            "fd00:42::42/128",  # Scaleway's
            "fd00:a9fe:a9fe::/48",  # Akamai's
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)
LOOPBACK = ipaddress.ip_address("::1")
# IPv6 addresses with an IPv4 address in their last four bytes that are in use, such as in networks with only
# IPv6. The IPv4 address counts.
CARRIERS = (ipaddress.ip_network("::ffff:0:0/96"), ipaddress.ip_network("64:ff9b::/96"))


class RefusedAddress(OSError):
    """An address that may not be reached."""


@dataclass(frozen=True, slots=True)
class Guard:
    """`private`: private addresses may be reached. `files`: the directory whose files jobs may name; None:
    they may name none."""

    private: bool
    files: Path | None = None

    def check(self, address: str) -> None:
        check_address(address, private=self.private)

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Make a socket. Here every name is resolved, and the real address is known."""
        family, kind, protocol, _, address = info
        self.check(str(address[0]))
        return socket.socket(family, kind, protocol)

    def resolver(self, resolver: AbstractResolver | None = None) -> AbstractResolver:
        return CheckedResolver(resolver or ThreadedResolver(), self)

    async def pin(self, address: Address, *, field: str) -> Address:
        """The address with checked IP addresses for its hosts. Refuses files that jobs may not name. With TLS
        the certificates must still have the names.

        With HTTP the names stay: the client takes its resolver and its sockets from the guard."""
        for name in FILES:
            if (path := address.options.get(name)) is not None:
                self.check_file(path, field)
        if address.scheme == "unix":
            self.check_file(address.path, field)
        if address.scheme == "sqs":  # its host is a region
            return address
        hosts, names = [], {}
        failed: OSError | None = None
        for host, port in address.hosts:
            try:
                found = await self.find(host, port)
            except RefusedAddress:
                raise
            except OSError as error:
                failed = error
                continue
            hosts.append((found, port))
            names[found] = host
        if failed and not hosts:
            raise failed
        if address.scheme in ("http", "https"):
            return address
        return replace(address, hosts=tuple(hosts), names=names)

    async def find(self, host: str, port: int) -> str:
        """A checked IP address of a host that accepts connections: other addresses of the name may not."""
        failed = OSError(f"{host} has no address")
        for found in await self.resolve(host, port):
            try:
                _, writer = await asyncio.open_connection(found, port)
            except OSError as error:
                failed = error
            else:
                writer.close()
                return found
        raise failed

    async def resolve(self, host: str, port: int) -> list[str]:
        """The IP addresses of a host. Raises `RefusedAddress` if one of them may not be reached."""
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(info[4][0]) for info in infos))
        for each in found:
            self.check(each)
        return found

    def check_file(self, path: str, field: str) -> None:
        """Refuse a file outside the directory, with the same text whether or not it exists."""
        if path.startswith(PEM):
            return
        if self.files is not None and Path(path).resolve().is_relative_to(self.files.resolve()):
            return
        where = f"those in {self.files}" if self.files else "none"
        raise InvalidField(
            "file_refused",
            f"jobs may not name the file {path}: the worker's setting target_files allows {where}",
            field=field,
            hint="put the content into a secret and write ${secret:name}, or ask the operator",
        )


class CheckedResolver(AbstractResolver):
    """Resolves a name only if all its addresses may be reached."""

    def __init__(self, resolver: AbstractResolver, guard: Guard) -> None:
        self._resolver = resolver
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for each in found:
            self._guard.check(each["host"])
        return found

    async def close(self) -> None:
        await self._resolver.close()


def check_address(text: str, *, private: bool = True) -> None:
    """Refuse addresses that are never reached; and unless `private`, all that are not public."""
    address: IpAddress = ipaddress.ip_address(text.split("%")[0])
    if any(address.version == network.version and address in network for network in CARRIERS):
        address = ipaddress.ip_address(address.packed[12:])
    if address != LOOPBACK and any(
        address.version == network.version and address in network for network in REFUSED
    ):
        raise RefusedAddress(
            f"{text} is an address that is never reached (link-local, metadata, multicast …)"
        )
    if not private and not address.is_global:
        raise RefusedAddress(
            f"{text} is a private address, and egress_private does not allow those "
            "(SEXTON_EGRESS_PRIVATE=allow does)"
        )
