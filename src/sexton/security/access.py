"""Who may use the API: the user who runs it and root, from this machine; or every caller with a key or a
session.

An API that other machines can reach must have keys or OpenID Connect. This module decides that for every
process that serves the API. Where the kernel does not name the user of a connection, a token stands for the
user: it is in a file that only the user can read.
"""

from __future__ import annotations

import getpass
import hmac
import logging
import os
import secrets
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from sexton.config import Settings
from sexton.errors import InvalidField, SextonError, Unavailable
from sexton.postgres.server import default_data_directory
from sexton.security.failures import Failures
from sexton.security.openid import read_openid
from sexton.security.peer import SocketAddress, can_tell, user_of
from sexton.security.private_file import make_private_file, read_private_file

log = logging.getLogger("sexton.api")

ROOT = 0
SHORTEST_KEY = 16
# After so many wrong keys from one address in a minute, further ones are refused unseen.
WRONG_KEYS = 20
# Of the hash of a configured key: enough to tell two of them apart.
SHOWN_DIGITS = 32


def require_keys(settings: Settings) -> list[str]:
    """The API keys. Raises `InvalidField` if other machines can reach the API, and it has neither keys nor
    OpenID Connect."""
    keys, openid = read_keys(settings), read_openid(settings)
    if keys or openid is not None or not settings.is_reachable():
        return keys
    where = settings.public_url or settings.host or "all addresses"
    raise InvalidField(
        "keys_required",
        f"on {where} other machines can reach the API, and it has no API keys",
        field="api_keys",
        hint="set SEXTON_API_KEYS to a long random text, or to @FILE with one key per line; "
        "or let people sign in with OpenID Connect (SEXTON_OIDC_ISSUER); or listen on 127.0.0.1",
    )


def read_keys(settings: Settings) -> list[str]:
    """The keys of `api_keys`: a list with commas, or @FILE with one per line."""
    text = (settings.api_keys or "").strip()
    if text.startswith("@"):
        try:
            lines = Path(text[1:]).read_text("utf-8").splitlines()
        except OSError as error:
            hint = "write @PATH of a file that Sexton may read, one key per line"
            raise _bad_keys(f"the file of API keys cannot be read: {error}", hint) from error
        keys = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    else:
        keys = [key.strip() for key in text.split(",")]
    keys = [key for key in keys if key]
    if any(len(key) < SHORTEST_KEY for key in keys):
        hint = "make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
        raise _bad_keys(f"an API key has fewer than {SHORTEST_KEY} characters", hint)
    if text and not keys:
        hint = "write one key per line; lines that begin with # do not count"
        raise _bad_keys("there is no key in the file of API keys", hint)
    return keys


def _bad_keys(problem: str, hint: str) -> InvalidField:
    return InvalidField("bad_config", problem, field="api_keys", hint=hint)


class OwnerCheck:
    """Without keys, the API admits the user who runs the server, and root."""

    def __init__(self, settings: Settings) -> None:
        self._token = None if can_tell() else make_token(token_file(settings.data))

    @property
    def by_user(self) -> bool:
        """Whether the kernel names the user: the answer is the same for the whole connection."""
        return self._token is None

    def is_owner(
        self, client: SocketAddress | None, server: SocketAddress | None, inode: int | None, header: str
    ) -> bool:
        """Whether the connection, or the token in this Authorization header, belongs to one of them. `inode`
        is that of the server's socket."""
        if self._token is not None:
            given = header.removeprefix("Bearer ").strip()
            return hmac.compare_digest(given.encode(), self._token.encode())
        return peer_user(client, server, inode) in (own_user(), ROOT)


def peer_user(
    client: SocketAddress | None, server: tuple[str, int | None] | None, inode: int | None
) -> int | None:
    """The user of this machine at the other end of a connection; None if that cannot be told."""
    if client is None or server is None or server[1] is None:
        return None
    try:
        return user_of(client, (server[0], server[1]), inode)
    except OSError as error:
        raise Unavailable(
            "overloaded", f"the kernel does not say which user calls: {error}", hint="try again"
        ) from error


def bearer(header: str) -> str:
    """The key in an Authorization header; empty if there is none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


@cache
def own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(own_user())


def own_user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else -1


def token_file(data: Path | None) -> Path:
    """Beside the data directory."""
    data = data or default_data_directory()
    return data.with_name(data.name + ".token")


def make_token(path: Path) -> str:
    """The token in the file. A missing file is made, readable only by its user."""
    make_private_file(path, secrets.token_urlsafe(32))
    return read_private_file(path)


class KeyCheck:
    """Compares keys, and slows down an address that keeps sending wrong ones.

    It always accepts a right key: behind a proxy all callers have one address, and one caller must not lock
    the others out.
    """

    def __init__(self, keys: list[str]) -> None:
        self._keys = [sha256(key.encode()).digest() for key in keys]
        self._wrong = Failures(WRONG_KEYS)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def find(self, header: str) -> str | None:
        """The name of the key in this Authorization header, if it is one of these. It compares all of them,
        so that the time it takes tells nothing about them."""
        given = sha256(bearer(header).encode()).digest()
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        return given.hex()[:SHOWN_DIGITS] if any(matches) else None

    def names(self) -> set[str]:
        """The names that `find` gives. A session that came from a key ends when the key is removed."""
        return {key.hex()[:SHOWN_DIGITS] for key in self._keys}

    def refuse(self, header: str, address: str, *, signs_in: bool = False) -> NoReturn:
        """Raises `no_key`, `bad_key` or `too_many_keys` for a header without a right key. `signs_in`: people
        can sign in instead."""
        if not bearer(header):
            raise SextonError(
                "no_key",
                "this server needs an API key" + (", or a person who has signed in" if signs_in else ""),
                hint="send Authorization: Bearer KEY (SEXTON_API_KEY)"
                + ("; people sign in at /sign-in" if signs_in else ""),
            )
        if self._note(address) > WRONG_KEYS:
            raise SextonError(
                "too_many_keys",
                f"more than {WRONG_KEYS} wrong API keys came from {address} within a minute",
                hint="correct the key, and wait a minute",
            )
        raise SextonError(
            "bad_key",
            "this API key is not one of this server's, or has ended",
            hint="send another one in Authorization: Bearer KEY (SEXTON_API_KEY)",
        )

    def _note(self, address: str) -> int:
        """How many wrong keys this address has sent within its minute. Logs the first, and the first that is
        refused unseen."""
        count = self._wrong.note(address)
        if count == 1:
            log.warning("a wrong API key came from %s", address)
        elif count == WRONG_KEYS + 1:
            log.warning("%d wrong API keys came from %s within a minute: more are refused", count, address)
        return count
