"""The address of a broker or an elector, parsed.

    rediss://user:p%40ssword@host:6380/0?ca=/etc/sexton/ca.pem&cert=/etc/sexton/me.pem&key=/etc/sexton/me.key

All have one form: the scheme says whether the connection is encrypted, the user and the password stand
percent-encoded before the host, and `ca`, `cert` and `key` name files. Refusals do not repeat the address, or
any part that may belong to a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from sexton.connections.scheme import SCHEMES
from sexton.errors import InvalidField

FILES = ("ca", "cert", "key")
MASK = "•••"
# Shorter texts are too likely to stand for something else.
SHORTEST_MASKED = 4
ENCODE = "write the characters @ : / ? # % of a user or a password as %40 %3A %2F %3F %23 %25"


# The names of these files in redis-py and Celery, for addresses that are copied from an application.
REDIS_NAMES = {"ssl_ca_certs": "ca", "ssl_certfile": "cert", "ssl_keyfile": "key"}


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    hosts: tuple[tuple[str, int], ...]
    path: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The name of each host that is an IP address in place of a name.
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, url: str, *, field: str, queue: bool = False) -> Address:
        """Raises `InvalidField`. `queue`: this is the address of a queue, which may have more options."""
        name, _, rest = url.partition("://")
        if name not in SCHEMES:
            what = f"there is no kind of address {name!r}" if rest else "this is not an address"
            raise _refuse(what, field, f"begin with one of {', '.join(f'{each}://' for each in SCHEMES)}")
        scheme = SCHEMES[name]
        try:
            parts = urlsplit(url)
            login, _, servers = parts.netloc.rpartition("@")
            user, has_password, password = login.partition(":")
            hosts = tuple(_host(server, scheme.port) for server in servers.split(",")) if servers else ()
            given = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise _unreadable(name, field) from None
        # A password that is not encoded leaves these behind.
        if parts.fragment or "@" in parts.path + parts.query or not (hosts or name == "unix"):
            raise _unreadable(name, field)
        if len(hosts) > 1 and not scheme.several:
            raise _refuse(f"{name}:// takes one host", field, "name one host, or a proxy")
        return cls(
            scheme=name,
            hosts=hosts,
            path=unquote(parts.path),
            user=unquote(user) or None,
            password=unquote(password) if has_password else None,
            options=_options(name, given, scheme.options + scheme.queue_options * queue, field),
        )

    @property
    def tls(self) -> bool:
        return self.scheme == SCHEMES[self.scheme].secure

    @property
    def servers(self) -> list[str]:
        """`host:port` of each."""
        return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts]

    def mask(self, text: str) -> str:
        """The text without the password, in clear or percent-encoded."""
        ways = {self.password or "", quote(self.password or "", safe="")}
        # For NATS without a password, the user is a token.
        if self.password is None and self.scheme in ("nats", "tls"):
            ways |= {self.user or "", quote(self.user or "", safe="")}
        for way in ways:
            if len(way) >= SHORTEST_MASKED:
                text = text.replace(way, MASK)
        return text


def complaint(error: BaseException, address: Address | None = None) -> str:
    """The error of a client library about a server that does not answer: one line, without the password."""
    said = str(error)
    lines = (said if address is None else address.mask(said)).splitlines()
    return lines[0] if lines else type(error).__name__


def _host(server: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{server}")
    if not parts.hostname:
        raise ValueError("no host")
    return parts.hostname, parts.port or port


def _options(scheme: str, given: dict[str, list[str]], known: tuple[str, ...], field: str) -> dict[str, str]:
    secure = SCHEMES[scheme].secure
    if scheme == "rediss":
        given = {REDIS_NAMES.get(name, name): values for name, values in given.items()}
        if [value.lower() for value in given.get("ssl_cert_reqs", ())] in (["required"], ["cert_required"]):
            del given["ssl_cert_reqs"]
    allowed = (*known, *FILES) if scheme == secure else known
    for name, values in given.items():
        if name in FILES and secure and scheme != secure:
            what = f"{name} is for connections with TLS, and {scheme}:// has none"
            raise _refuse(what, field, f"write {secure}://")
        if name not in allowed:
            hint = f"it has {', '.join(allowed)}" if allowed else "leave out the part after the question mark"
            raise _refuse(f"{scheme}:// has no parameter {name!r}", field, hint)
        if len(values) > 1 or not values[0]:
            raise _refuse(f"the parameter {name} needs one value", field, f"write {name}=…")
    if "key" in given and "cert" not in given:
        hint = "add cert=FILE, which may hold the key as well"
        raise _refuse("the address has a key, but no cert", field, hint)
    return {name: values[0] for name, values in given.items()}


def _unreadable(scheme: str, field: str) -> InvalidField:
    return _refuse(f"the address {scheme}://… cannot be read", field, ENCODE)


def _refuse(what: str, field: str, hint: str) -> InvalidField:
    return InvalidField("bad_address", what, field=field, hint=hint)


def http_parts(url: str) -> SplitResult | None:
    """The parts of an http or https URL; None if it is no such URL."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if valid else None
