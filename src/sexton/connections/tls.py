"""TLS to another server: the authorities that are trusted, and the certificate that is shown."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from sexton.connections.address import FILES, Address
from sexton.errors import InvalidField

PEM = "-----BEGIN"


def make_context(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    """Each is the path of a file, or what would be in it. `ca` replaces the system's authorities."""
    inline = ca is not None and ca.startswith(PEM)
    context = ssl.create_default_context(cafile=None if inline else ca, cadata=ca if inline else None)
    if cert is not None:
        # OpenSSL reads keys from files only: in a directory that no other user can read, for a moment.
        with TemporaryDirectory() as directory:
            shown = _in_file(cert, Path(directory, "cert"))
            own = None if key is None else _in_file(key, Path(directory, "key"))
            # Without a password of its own, OpenSSL would ask for one at the terminal.
            context.load_cert_chain(shown, own, password=lambda: "")
    return context


def context_of(address: Address, field: str) -> ssl.SSLContext | None:
    """What an address asks for; None: no TLS. Files are read anew each time. Raises `InvalidField`."""
    if not address.tls:
        return None
    files_of(address, field)  # says more plainly what is not there
    try:
        return make_context(*map(address.options.get, FILES))
    except (OSError, ValueError) as error:
        named = " and ".join(name for name in FILES if name in address.options) or "the system's authorities"
        raise InvalidField(
            "bad_tls",
            f"{named} cannot be used for TLS: {error}",
            field=field,
            hint="give certificates and keys in the PEM form, keys without a password",
        ) from None


def files_of(address: Address, field: str) -> list[bytes | None]:
    """What is in the files that an address names: authorities, certificate and key. Raises `InvalidField`."""
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
