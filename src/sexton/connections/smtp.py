"""The address of a mail server, parsed.

    smtp://user:p%40ssword@host:587?starttls=required&ca=/etc/sexton/ca.pem
    smtps://user:password@host:465

`smtps` is encrypted from the first byte on. With `smtp` the client encrypts the connection once the server
offers it; with a password it must, except to this machine. Refusals do not repeat the address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import parse_qs, unquote, urlsplit

from sexton.connections.address import ENCODE
from sexton.connections.loopback import is_loopback
from sexton.errors import InvalidField

Starttls = Literal["required", "offered", "never"]
PORTS = {"smtp": 25, "smtps": 465}
SUBMISSION = 587
OPTIONS = ("starttls", "ca", "cert", "key")
EXAMPLE = "smtp://user:password@mail.example.com:587"


@dataclass(frozen=True, slots=True)
class SmtpAddress:
    host: str
    port: int
    #: Encrypted from the first byte on.
    tls: bool
    starttls: Starttls
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = field(default=None, repr=False)
    cert: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, url: str, *, field: str) -> SmtpAddress:
        """Raises `InvalidField`."""
        try:
            parts = urlsplit(url)
            login, _, _ = parts.netloc.rpartition("@")
            user, has_password, password = login.partition(":")
            host, port = parts.hostname or "", parts.port
            given = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise _refused("the address cannot be read", field) from None
        if parts.scheme not in PORTS:
            raise _refused(f"there is no mail server with the scheme {parts.scheme[:20]!r}", field)
        if not host or parts.path not in ("", "/") or parts.fragment:
            raise _refused(f"the address {parts.scheme}://… cannot be read", field)
        for name, values in given.items():
            if name not in OPTIONS or len(values) > 1 or not values[0]:
                raise _refused(f"it has no parameter {name!r}, or not this value", field)
        options = {name: values[0] for name, values in given.items()}
        secure = parts.scheme == "smtps"
        usual = "required" if has_password and not is_loopback(host) else "offered"
        starttls = options.get("starttls", usual)
        if starttls not in get_args(Starttls) or (secure and "starttls" in options):
            raise _refused("starttls is required, offered or never, and only for smtp://", field)
        return cls(
            host=host,
            port=port or (PORTS["smtps"] if secure else SUBMISSION if user else PORTS["smtp"]),
            tls=secure,
            starttls=cast(Starttls, starttls),
            user=unquote(user) or None,
            password=unquote(password) if has_password else None,
            ca=options.get("ca"),
            cert=options.get("cert"),
            key=options.get("key"),
        )


def _refused(what: str, field: str) -> InvalidField:
    hint = f"write {EXAMPLE}, or smtps://… for TLS from the start; {ENCODE}"
    return InvalidField("bad_address", what, field=field, hint=hint)
