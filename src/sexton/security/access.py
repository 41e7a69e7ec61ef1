"""Who may use the API: the user who runs it and root, from this machine; or every caller who has a key.

An API that others can reach must have keys. This is decided here, for every process that serves it. On a
system whose kernel does not tell the user of a connection, a token in a file that only the user can read
stands for the user.
"""

from __future__ import annotations

import getpass
import hmac
import logging
import os
import secrets
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from sexton import clock
from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import InvalidField, SextonError, Unavailable
from sexton.postgres.server import default_data_directory
from sexton.security.peer import Place, can_tell, user_of
from sexton.security.private_file import make_private_file, read_private_file

log = logging.getLogger("sexton.api")

ROOT = 0
SHORTEST_KEY = 16
# Wrong keys that one address may send in a minute before they are refused unseen.
WRONG_KEYS = 20
MINUTE = 60.0
# Addresses that are remembered; the one that was silent longest is forgotten first.
MOST_ADDRESSES = 10_000


def require_keys(settings: Settings) -> list[str]:
    """The API keys. Raises `InvalidField` if there are none, though `host` is not loopback."""
    keys = read_keys(settings)
    if keys or is_loopback(settings.host):
        return keys
    raise InvalidField(
        "keys_required",
        f"on {settings.host or 'all addresses'} other machines can reach the API, and it has no API keys",
        field="api_keys",
        hint="set SEXTON_API_KEYS to a long random text, or to @FILE with one key per line; "
        "or listen on 127.0.0.1",
    )


def read_keys(settings: Settings) -> list[str]:
    """The keys of `api_keys`: a list with commas, or @FILE with one per line."""
    text = (settings.api_keys or "").strip()
    if text.startswith("@"):
        try:
            lines = Path(text[1:]).read_text("utf-8").splitlines()
        except OSError as error:
            raise InvalidField(
                "bad_config", f"the file of API keys cannot be read: {error}", field="api_keys"
            ) from error
        keys = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    else:
        keys = [key.strip() for key in text.split(",")]
    keys = [key for key in keys if key]
    if any(len(key) < SHORTEST_KEY for key in keys):
        raise InvalidField(
            "bad_config",
            f"an API key has fewer than {SHORTEST_KEY} characters",
            field="api_keys",
            hint="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    if text and not keys:
        raise InvalidField("bad_config", "there is no key in the file of API keys", field="api_keys")
    return keys


class OwnerCheck:
    """Without keys, a request is let in from the user who runs the server, and from root."""

    def __init__(self, settings: Settings) -> None:
        self._token = None if can_tell() else make_token(token_file(settings.data))

    @property
    def by_user(self) -> bool:
        """Whether the kernel tells the user: the answer is the same for the whole connection."""
        return self._token is None

    def is_owner(self, client: Place | None, server: Place | None, inode: int | None, header: str) -> bool:
        """Whether the connection, or the token in this Authorization header, is theirs. `inode` is that of
        the server's socket."""
        if self._token is not None:
            given = header.removeprefix("Bearer ").strip()
            return hmac.compare_digest(given.encode(), self._token.encode())
        if client is None or server is None:
            return False
        try:
            return user_of(client, server, inode) in (own_user(), ROOT)
        except OSError as error:
            raise Unavailable(
                "overloaded", f"the kernel cannot be asked who calls: {error}", hint="try again"
            ) from error


def bearer(header: str) -> str:
    """The key in an Authorization header; empty if there is none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


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
    """The token in the file, which is made if there is none, readable by its user alone."""
    make_private_file(path, secrets.token_urlsafe(32))
    return read_private_file(path)


class KeyCheck:
    """Compares keys, and slows down an address that keeps sending wrong ones.

    A right key is always accepted: behind a proxy all callers have one address, and one of them must not be
    able to lock the others out.
    """

    def __init__(self, keys: list[str]) -> None:
        self._keys = [sha256(key.encode()).digest() for key in keys]
        #: By address: when its minute began, and how many wrong keys it has sent since.
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def holds(self, header: str) -> bool:
        """Whether this Authorization header has one of the keys. Each is compared, so that the time says
        nothing about which one was near."""
        given = sha256(bearer(header).encode()).digest()
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        return any(matches)

    def refuse(self, header: str, address: str) -> NoReturn:
        """Raises `no_key`, `bad_key` or `too_many_keys` for a header without a right key."""
        if not bearer(header):
            raise SextonError(
                "no_key",
                "this server needs an API key",
                hint="send Authorization: Bearer KEY (SEXTON_API_KEY)",
            )
        if self._count(address) > WRONG_KEYS:
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

    def _count(self, address: str) -> int:
        """How many wrong keys this address has sent in its minute. The first and the last one that is
        answered are logged."""
        now = clock.monotonic()
        began, count = self._wrong.pop(address, (now, 0))
        if now - began >= MINUTE:
            began, count = now, 0
        count += 1
        self._wrong[address] = began, count
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        if count == 1:
            log.warning("a wrong API key came from %s", address)
        elif count == WRONG_KEYS + 1:
            log.warning("%d wrong API keys came from %s within a minute: more are refused", count, address)
        return count
