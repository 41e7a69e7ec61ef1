"""Which user is at the other end of a loopback connection, told from the kernel's table of TCP sockets.

Both ends of such a connection are on this machine, so each has a row in `/proc/net/tcp` or `/proc/net/tcp6`
with the user who made the socket. A socket that its program has closed belongs to no user any more: the table
then says 0, which must not be taken for root, so rows without an inode are ignored.
"""

from __future__ import annotations

import ipaddress
import re
import struct
from collections.abc import Iterator
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENING = "0A"
ANY = ("0.0.0.0", "::")

Place = tuple[str, int]


def can_tell() -> bool:
    """Whether this system has the table."""
    return TABLES[0].exists()


def user_of(end: Place, other: Place, inode: int | None = None) -> int | None:
    """The user whose socket is at this end of a connection; None if that cannot be told.

    `inode` is that of the socket at the other end. Once a connection has ended another one may have its
    addresses, so the table must still name this socket, after it has named the user."""
    user = next((user for user, socket in _connections(end, other) if socket), None)
    if inode is not None and inode not in (socket for _, socket in _connections(other, end)):
        return None
    return user


def user_listening(host: str, port: int) -> int | None:
    """The user who listens there; None if none does, or that cannot be told."""
    address, _ = _plain((host, port))
    for local, _, state, user, inode in _rows():
        if state == LISTENING and inode and local[1] == port and local[0] in (address, *ANY):
            return user
    return None


def _connections(local: Place, remote: Place) -> Iterator[tuple[int, int]]:
    """User and inode of each socket with these addresses. Callers may have made the table long: its rows are
    not taken apart."""
    ends = "|".join(
        f"{here} {there}"
        for here in _spellings(local)
        for there in _spellings(remote)
        if len(here) == len(there)
    )
    if not ends:
        return
    row = re.compile(rf"^ *\d+: (?:{ends}) (?!{LISTENING})\w+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) ", re.MULTILINE)
    for table in TABLES:
        try:
            found = row.findall(table.read_text("ascii"))
        except OSError:
            continue
        yield from ((int(user), int(inode)) for user, inode in found)


def _spellings(place: Place) -> list[str]:
    """`0100007F:1CDE`, as the tables write it; an IPv4 address may stand in both."""
    try:
        address = ipaddress.ip_address(_plain(place)[0])
    except ValueError:
        return []
    ways = [address.packed]
    if address.version == 4:
        ways.append(b"\0" * 10 + b"\xff\xff" + address.packed)
    return [
        "".join(f"{word:08X}" for word in struct.unpack(f"={len(way) // 4}I", way)) + f":{place[1]:04X}"
        for way in ways
    ]


def _rows() -> Iterator[tuple[Place, Place, str, int, int]]:
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, remote, state, _, _, _, user, _, inode, *_ = line.split()
            yield _place(local), _place(remote), state, int(user), int(inode)


def _place(text: str) -> Place:
    """`0100007F:1CDE`: the words of the address in the byte order of the machine, and the port."""
    address, _, port = text.partition(":")
    words = [int(address[start : start + 8], 16) for start in range(0, len(address), 8)]
    return _plain((str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))), int(port, 16)))


def _plain(place: Place) -> Place:
    """An IPv4 address inside an IPv6 one is that IPv4 address."""
    try:
        address = ipaddress.ip_address(place[0])
    except ValueError:
        return place
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address), place[1]
