"""Which user is at the other end of a loopback connection, as the kernel says.

Both ends of such a connection are on this machine, and the kernel knows the user of each socket. It answers
for one connection over netlink (`sock_diag`), within microseconds however many there are. It also lists all
connections in `/proc/net/tcp` and `/proc/net/tcp6`, which takes milliseconds to read. A socket that its
program has closed has no inode, and perhaps user 0, which does not mean root.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENING = "0A"
ANY = ("0.0.0.0", "::")

# Of linux/sock_diag.h and linux/inet_diag.h.
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST = 1
EVERY_STATE = NO_COOKIE = 0xFFFFFFFF
HEADER = struct.Struct("=IHHII")
QUESTION = struct.Struct("=BBBxI")
ENDS = struct.Struct("!HH16s16s")
REST = struct.Struct("=III")
# Behind the header: family, state and more, then the ends and the rest of their identity.
ANSWER = struct.Struct("=4x48x12xII")

SocketAddress = tuple[str, int]
# Of a socket: its user and its inode, 0 if it has none.
Owner = tuple[int, int]


def can_tell() -> bool:
    """Whether this system has the table."""
    return TABLES[0].exists()


def user_of(end: SocketAddress, other: SocketAddress, inode: int | None = None) -> int | None:
    """The user whose socket is at this end of a connection; None if the kernel does not say.

    `inode` is that of the socket at the other end. After the end of a connection another one may have its
    addresses. So the kernel must still name this socket after it has named the user."""
    find = ask_for if can_ask() else look_up
    user, socket = find(end, other)
    if inode is not None and find(other, end)[1] != inode:
        return None
    return user if socket else None


def user_listening(host: str, port: int) -> int | None:
    """The user who listens there; None if there is none, or the kernel does not say."""
    address, _ = _plain((host, port))
    for local, _, state, user, inode in _rows():
        if state == LISTENING and inode and local[1] == port and local[0] in (address, *ANY):
            return user
    return None


@cache
def can_ask() -> bool:
    """Whether the kernel answers for one connection."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as client,
        ):
            return ask_for(client.getsockname(), listener.getsockname())[1] != 0
    except OSError:
        return False


def ask_for(local: SocketAddress, remote: SocketAddress) -> Owner:
    """The socket with these ends."""
    try:
        ends = [ipaddress.ip_address(_plain(end)[0]) for end in (local, remote)]
    except ValueError:
        return 0, 0
    family = socket.AF_INET if ends[0].version == 4 else socket.AF_INET6
    identity = ENDS.pack(local[1], remote[1], ends[0].packed, ends[1].packed)
    question = QUESTION.pack(family, socket.IPPROTO_TCP, 0, EVERY_STATE) + identity
    question += REST.pack(0, NO_COOKIE, NO_COOKIE)
    header = HEADER.pack(HEADER.size + len(question), SOCK_DIAG_BY_FAMILY, REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
        kernel.sendto(header + question, (0, 0))
        answer = kernel.recv(8192)
    if HEADER.unpack_from(answer)[1] != SOCK_DIAG_BY_FAMILY:
        return 0, 0
    # For an address without a connection, the kernel answers with the listening socket.
    if ENDS.unpack_from(answer, HEADER.size + 4)[:2] != (local[1], remote[1]):
        return 0, 0
    user, inode = ANSWER.unpack_from(answer, HEADER.size)
    return user, inode


def look_up(local: SocketAddress, remote: SocketAddress) -> Owner:
    """The same from the tables. They may be long, so their rows are not parsed."""
    ends = "|".join(
        f"{here} {there}"
        for here in _spellings(local)
        for there in _spellings(remote)
        if len(here) == len(there)
    )
    row = re.compile(
        rf"^ *\d+: (?:{ends}) (?!{LISTENING})\w+ \S+ \S+ \S+ +(\d+) +\d+ ([1-9]\d*) ", re.MULTILINE
    )
    for table in TABLES if ends else ():
        try:
            found = row.search(table.read_text("ascii"))
        except OSError:
            continue
        if found is not None:
            return int(found[1]), int(found[2])
    return 0, 0


def _spellings(end: SocketAddress) -> list[str]:
    """`0100007F:1CDE`, as the tables write it; an IPv4 address may be in both tables."""
    try:
        address = ipaddress.ip_address(_plain(end)[0])
    except ValueError:
        return []
    ways = [address.packed]
    if address.version == 4:
        ways.append(b"\0" * 10 + b"\xff\xff" + address.packed)
    return [
        "".join(f"{word:08X}" for word in struct.unpack(f"={len(way) // 4}I", way)) + f":{end[1]:04X}"
        for way in ways
    ]


def _rows() -> Iterator[tuple[SocketAddress, SocketAddress, str, int, int]]:
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, remote, state, _, _, _, user, _, inode, *_ = line.split()
            yield _read_address(local), _read_address(remote), state, int(user), int(inode)


def _read_address(text: str) -> SocketAddress:
    """`0100007F:1CDE`: the words of the address in the byte order of the machine, and the port."""
    address, _, port = text.partition(":")
    words = [int(address[start : start + 8], 16) for start in range(0, len(address), 8)]
    return _plain((str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))), int(port, 16)))


def _plain(end: SocketAddress) -> SocketAddress:
    """An IPv4 address inside an IPv6 one is that IPv4 address."""
    try:
        address = ipaddress.ip_address(end[0])
    except ValueError:
        return end
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address), end[1]
