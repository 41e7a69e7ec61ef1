"""Secrets by name: passwords and addresses that targets need and no answer shows.

They are stored encrypted (AES-GCM) under a key that is not in the database: `secret_key`, or a file beside
the data directory of the private PostgreSQL. A target names them, as `{"secret": "name"}` or
`${secret:name}`. The process that carries the run out puts their values in, and masks them in all that it
records of the run. No command returns a value.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField, SextonError
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.refusal import not_found
from sexton.security.placeholder import PLACEHOLDER, SecretRef, check_secret_name

KEY_BYTES = 32
NONCE_BYTES = 12
LARGEST = 64 * 1024
KEPT_SECONDS = 30.0
MASK = "•••"
# Shorter texts are too likely to stand for something else.
SHORTEST_MASKED = 4


class SecretError(SextonError):
    """A secret that cannot be read: it does not exist, or there is no key, or another key."""


class Secrets:
    """The secrets of an installation, for a process that may read them."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._source = settings.secret_key
        self._cipher: AESGCM | None = None
        self._values: dict[str, tuple[str, float]] = {}
        self._masked: dict[str, None] = {}

    async def reveal(self, text: str | SecretRef) -> str:
        """The text with its secrets in their places."""
        if isinstance(text, SecretRef):
            return await self.value(text.secret)
        if "${secret:" not in text:
            return text
        values = {name: await self.value(name) for name in set(PLACEHOLDER.findall(text))}
        return PLACEHOLDER.sub(lambda found: values[found[1]], text)

    async def value(self, name: str) -> str:
        now = clock.monotonic()
        known = self._values.get(name)
        if known is not None and now - known[1] < KEPT_SECONDS:
            return known[0]
        sealed = await self._database.fetchval("secrets/get", name=name)
        if sealed is None:
            raise SecretError(
                "no_secret", f"there is no secret {name}", hint=f"make it: sexton secret set {name}"
            )
        value = decrypt(self._key(), name, sealed)
        self._values[name] = (value, now)
        self._remember(value)
        return value

    def mask(self, text: str) -> str:
        """The text without any secret that was revealed here."""
        for value in self._masked:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def mask_all(self, value: Any) -> Any:
        """The same for every text inside a JSON value."""
        if not self._masked:
            return value
        match value:
            case str():
                return self.mask(value)
            case list():
                return [self.mask_all(item) for item in value]
            case dict():
                return {self.mask(str(name)): self.mask_all(item) for name, item in value.items()}
        return value

    def _remember(self, value: str) -> None:
        """Mask also the parts of an address, and other spellings: the errors of clients quote those."""
        parts = [value, *value.splitlines()]
        if "://" in value:
            try:
                split = urlsplit(value)
                parts += [split.password or "", split.netloc.rpartition("@")[0], split.query]
            except ValueError:
                pass
        for part in parts:
            for way in (part, unquote(part), quote(part, safe="")):
                if len(way) >= SHORTEST_MASKED:
                    self._masked.setdefault(way)
        # The longest first: a part of a secret must not break up the whole.
        self._masked = dict.fromkeys(sorted(self._masked, key=len, reverse=True))

    def _key(self) -> AESGCM:
        if self._cipher is None:
            self._cipher = AESGCM(read_key(self._source))
        return self._cipher


async def keep(context: Context, settings: Settings, name: str, value: str) -> bool:
    """Set a secret; whether it is new."""
    check_secret_name(name, "name")
    if not value or len(value.encode()) > LARGEST or "\0" in value:
        raise InvalidField(
            "bad_secret",
            f"a secret has 1 to {LARGEST:,} bytes, and no NUL character",
            field="value",
            hint="pass it on the standard input",
        )
    cipher = AESGCM(read_key(settings.secret_key))
    nonce = os.urandom(NONCE_BYTES)
    sealed = nonce + cipher.encrypt(nonce, value.encode(), name.encode())
    return bool(await context.fetchval("secrets/set", name=name, value=sealed, now=context.now))


async def names(context: Context) -> list[dict[str, Any]]:
    """Every secret's name, and when it was made and changed."""
    return [dict(row) for row in await context.fetch("secrets/list")]


async def delete(context: Context, name: str) -> None:
    if await context.fetchval("secrets/delete", name=name) is None:
        raise not_found("secret", name)


def decrypt(cipher: AESGCM, name: str, sealed: bytes) -> str:
    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode()).decode()
    except InvalidTag:
        raise SecretError(
            "wrong_key",
            f"the secret {name} was made with another key",
            hint="give every process the same SEXTON_SECRET_KEY, or set the secret again",
        ) from None


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def read_key(source: str | None) -> bytes:
    """The key: 32 bytes in base64, or `@FILE` with them."""
    if source is None:
        raise SecretError(
            "no_key",
            "there is no key for secrets",
            hint="set SEXTON_SECRET_KEY, the same in every process; sexton secret key makes one",
        )
    text = source
    if source.startswith("@"):
        try:
            text = Path(source[1:]).read_text("ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise SecretError(
                "no_key",
                f"the key for secrets cannot be read: {error}",
                hint="make a secret first: sexton secret set NAME; or set SEXTON_SECRET_KEY",
            ) from None
    try:
        key = base64.b64decode(re.sub(r"\s", "", text), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise SecretError(
            "bad_key",
            f"secret_key is not {KEY_BYTES} bytes in base64",
            hint="make one: sexton secret key",
        )
    return key


def key_file(data: Path) -> Path:
    """Beside the data directory, so that a copy of the data is not a copy of the key."""
    return data.with_name(data.name + ".key")


def make_key_file(path: Path) -> None:
    """Make a key file, unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(new_key() + "\n")
