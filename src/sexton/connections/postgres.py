"""The servers that the address of a PostgreSQL names: one, or a primary and its replicas.

    postgresql://sexton:password@db1:5432,db2:5432/sexton?target_session_attrs=read-write
    postgresql:///sexton?host=/run/db1,/run/db2&port=5432,5433

It is read as libpq does. Refusals do not repeat the address, which may hold a password.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from sexton.errors import InvalidField

SCHEMES = ("postgresql", "postgres")
PORTS = range(1, 65536)
# The values of target_session_attrs; the first three suit a database that Sexton writes to.
ATTRIBUTES = ("read-write", "primary", "any", "read-only", "standby", "prefer-standby")
WRITABLE = ATTRIBUTES[:3]


@dataclass(frozen=True, slots=True)
class PostgresHost:
    """A server; without a port it has the usual one."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        return self.name if self.port is None else f"{self.name}:{self.port}"


def read_hosts(url: str) -> list[PostgresHost]:
    """The hosts in the order of the address; none if the environment names them. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"the scheme is not one of {', '.join(SCHEMES)}")
    if named := parts.netloc.rpartition("@")[2]:
        return [_host(text) for text in named.split(",")]
    query = parse_qs(parts.query)
    hosts = [_host(text) for text in query["host"][-1].split(",")] if "host" in query else []
    ports = [_port(text) for text in query["port"][-1].split(",")] if "port" in query else [None]
    if len(ports) == 1:
        ports *= len(hosts)
    # Without as many ports as hosts, zip raises ValueError.
    return [PostgresHost(host.name, port or host.port) for host, port in zip(hosts, ports, strict=True)]


def check_address(field: str, url: str, *, written: bool) -> None:
    """Refuse an address that is not of a PostgreSQL; and if Sexton writes to it (`written`), of a read-only
    one."""
    hint = "write postgresql://user:password@host:5432/database, or several hosts: @host1:5432,host2:5432/"
    try:
        read_hosts(url)
        wanted = parse_qs(urlsplit(url).query).get("target_session_attrs", ["any"])[-1]
    except ValueError:
        raise InvalidField(
            "bad_config", f"{field} is not the address of a PostgreSQL", field=field, hint=hint
        ) from None
    known = WRITABLE if written else ATTRIBUTES
    if wanted not in known:
        why = "but it is written to" if wanted in ATTRIBUTES else "which does not exist"
        raise InvalidField(
            "bad_config",
            f"{field} has target_session_attrs={wanted}, {why}",
            field=field,
            hint=f"leave it out, or write one of {', '.join(known)}",
        )


def _host(text: str) -> PostgresHost:
    """`name`, `name:port`, `[::1]:port`, or the directory of a socket."""
    if text.startswith("/"):
        return PostgresHost(text)
    if text.startswith("["):
        name, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise ValueError("an address in brackets without the closing bracket")
        port = rest[1:]
    else:
        name, _, port = text.partition(":")
    if not name:
        raise ValueError("a host without a name")
    return PostgresHost(unquote(name), _port(unquote(port)) if port else None)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) not in PORTS:
        raise ValueError("not the number of a port")
    return int(text)
