"""TLS to another server: the trusted authorities, and the client certificate."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sexton.connections.address import FILES, Address
from sexton.errors import InvalidField

PEM = "-----BEGIN"


class NamedContext(ssl.SSLContext):
    """Checks certificates against the names of servers, although connections use their IP addresses."""

    names: dict[str, str]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, self._name(server_hostname), session)

    def wrap_socket(  # type: ignore[override]
        self, sock: socket.socket, *, server_hostname: str | None = None, **options: Any
    ) -> ssl.SSLSocket:
        return super().wrap_socket(sock, server_hostname=self._name(server_hostname), **options)

    def _name(self, host: Any) -> Any:
        return self.names.get(host, host)


def make_context(
    ca: str | None, cert: str | None, key: str | None, names: Mapping[str, str] | None = None
) -> NamedContext:
    """Each argument is the path of a file, or its content. `ca` replaces the system's authorities. `names`
    are the names of IP addresses."""
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.names = dict(names or {})
    if ca is None:
        context.load_default_certs()
    elif ca.startswith(PEM):
        context.load_verify_locations(cadata=ca)
    else:
        context.load_verify_locations(cafile=ca)
    if cert is not None:
        # OpenSSL reads keys only from files: write them for a moment into a directory that no other user can
        # read.
        with TemporaryDirectory() as directory:
            shown = _in_file(cert, Path(directory, "cert"))
            own = None if key is None else _in_file(key, Path(directory, "key"))
            # Without this callback, OpenSSL would ask for a password at the terminal.
            context.load_cert_chain(shown, own, password=lambda: "")
    return context


def context_of(address: Address, field: str) -> NamedContext | None:
    """The TLS context of an address; None: no TLS. Reads the files again each time. Raises `InvalidField`."""
    if not address.tls:
        return None
    files_of(address, field)  # its error for a missing file is clearer
    try:
        ca, cert, key = map(address.options.get, FILES)
        return make_context(ca, cert, key, address.names)
    except (OSError, ValueError) as error:
        named = " and ".join(name for name in FILES if name in address.options) or "the system's authorities"
        raise InvalidField(
            "bad_tls",
            f"{named} cannot be used for TLS: {error}",
            field=field,
            hint="give certificates and keys in the PEM form, keys without a password",
        ) from None


def files_of(address: Address, field: str) -> list[bytes | None]:
    """The contents of the files that an address names: authorities, certificate and key. Raises
    `InvalidField`."""
    return [_content(name, address.options.get(name), field) for name in FILES]


def _content(name: str, given: str | None, field: str) -> bytes | None:
    if given is None or given.startswith(PEM):
        return None if given is None else given.encode()
    try:
        return Path(given).read_bytes()
    except OSError as error:
        raise InvalidField(
            "bad_tls",
            f"the file that {name} names, {given}, cannot be read: {error.strerror}",
            field=field,
            hint="give the path of a file on this machine that Sexton may read",
        ) from None


def _in_file(text: str, path: Path) -> str:
    if not text.startswith(PEM):
        return text
    path.write_text(text)
    return str(path)
