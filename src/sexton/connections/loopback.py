"""Which hosts are loopback, this machine itself; and which addresses may get secrets."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=1024)  # called several times for each request, with the same few hosts
def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine only: 127.0.0.0/8, ::1, and `localhost` with the names
    under it, which RFC 6761 reserves for loopback. An empty host is not: a server binds to all addresses."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_protected(scheme: str, host: str) -> bool:
    """Whether passwords and cookies may go to an address: with https, or if they stay on this machine."""
    return scheme == "https" or (scheme == "http" and is_loopback(host))
