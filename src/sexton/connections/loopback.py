"""Which hosts are loopback: this machine itself."""

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
