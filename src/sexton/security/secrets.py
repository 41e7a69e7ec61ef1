"""Secrets by name: passwords and addresses that targets need and no answer shows.

The database holds them encrypted (AES-GCM) under a key that it does not have: `secret_key`, or a file beside
the data directory of the private PostgreSQL. A target names them, as `{"secret": "name"}` or
`${secret:name}`. The process that carries the run out inserts their values, and masks them in everything that
it records of the run. No command returns a value.

A secret is bound to hosts and to kinds of target, so that a job cannot send it to a host of its own choice.
The binding is authenticated with the value: a change of the row alone makes the secret unreadable.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField, SextonError
from sexton.postgres.database import Connection, Database
from sexton.postgres.server import default_data_directory
from sexton.postgres.transaction import NAMESPACE, SHARED, Context, command
from sexton.refusal import not_found
from sexton.security.binding import ANYWHERE, NOWHERE, Binding, Use, hosts_of
from sexton.security.mask import Mask
from sexton.security.placeholder import PLACEHOLDER, SecretRef, check_secret_name
from sexton.security.private_file import check_own_file, make_private_file

log = logging.getLogger("sexton")

# The setting that holds what webhooks are signed with.
WEBHOOK_SECRET = "webhook_secret"
# The one that holds the key of the hashes of API keys, sessions and links.
PEPPER = "api_key_pepper"
SEALED = (WEBHOOK_SECRET, PEPPER)
KEY_BYTES = 32
NONCE_BYTES = 12
LARGEST = 64 * 1024
KEPT_SECONDS = 30.0


class SecretError(SextonError):
    """A secret that cannot be read: it does not exist, or the key is missing or wrong."""


class Secrets:
    """The secrets that a process may read: those of the namespaces that it serves."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._source = settings.secret_key
        self._namespaces = settings.namespace_names()
        self._cipher: AESGCM | None = None
        self._values: dict[tuple[str, str], tuple[str, Binding, float]] = {}
        self._mask = Mask()

    async def reveal(self, text: str | SecretRef, use: Use = NOWHERE) -> str:
        """The text with its secrets inserted."""
        if isinstance(text, SecretRef):
            return await self.value(text.secret, use)
        if "${secret:" not in text:
            return text
        values = {name: await self.value(name, use) for name in set(PLACEHOLDER.findall(text))}
        return PLACEHOLDER.sub(lambda found: values[found[1]], text)

    async def address(
        self, text: str | SecretRef, kind: str, *, namespace: str = NAMESPACE, encode: bool = False
    ) -> str:
        """An address with its secrets inserted: they go to the hosts that the finished address names.
        `encode`: encode a secret that is only a part of it, such as its password."""
        whole = isinstance(text, SecretRef) or PLACEHOLDER.fullmatch(text) is not None
        template = f"${{secret:{text.secret}}}" if isinstance(text, SecretRef) else text
        found = {name: await self._find(namespace, name) for name in set(PLACEHOLDER.findall(template))}

        def put(match: re.Match[str]) -> str:
            value = found[match[1]][0]
            return quote(value, safe="") if encode and not whole else value

        url = PLACEHOLDER.sub(put, template)
        use = Use(kind, hosts_of(url), namespace)
        for name, (_, binding) in found.items():
            _require(name, binding, use)
        return url

    async def value(self, name: str, use: Use = NOWHERE) -> str:
        value, binding = await self._find(use.namespace, name)
        _require(name, binding, use)
        return value

    async def _find(self, namespace: str, name: str) -> tuple[str, Binding]:
        if self._namespaces is not None and namespace not in self._namespaces:
            raise SecretError(
                "other_namespace",
                f"this process serves {', '.join(self._namespaces)}, and sees no secret of {namespace}",
                hint="add the namespace to SEXTON_NAMESPACES where it runs",
            )
        now = clock.monotonic()
        known = self._values.get((namespace, name))
        if known is not None and now - known[2] < KEPT_SECONDS:
            return known[:2]
        row = await self._database.fetchrow("secrets/get", namespace=namespace, name=name)
        if row is None:
            raise SecretError(
                "no_secret", f"there is no secret {name}", hint=f"make it: sexton secret set {name}"
            )
        binding = Binding(tuple(row["hosts"]), tuple(row["kinds"]))
        value = decrypt(self._key(), namespace, name, binding, row["value"])
        self._values[namespace, name] = (value, binding, now)
        self._mask.remember(value)
        return value, binding

    def remember(self, value: str, seconds: float) -> None:
        """Mask this text as well for so long, such as a token that a service gave for a secret."""
        self._mask.remember(value, seconds)

    def mask(self, text: str) -> str:
        """The text without any secret that this process has revealed, and without parts of one at its
        ends."""
        return self._mask.text(text)

    def mask_all(self, value: Any) -> Any:
        """The same for every text inside a JSON value."""
        return self._mask.value(value)

    def _key(self) -> AESGCM:
        if self._cipher is None:
            self._cipher = AESGCM(read_key(self._source))
        return self._cipher


def _require(name: str, binding: Binding, use: Use) -> None:
    if not binding.allows(use):
        wanted = " and ".join(filter(None, use.hosts)) or "no host in particular"
        raise SecretError(
            "secret_bound",
            f"the secret {name} is for {binding}, not for a target of the kind {use.kind or 'unknown'} "
            f"with {wanted}",
            hint=f"set it again with the hosts that may get it: sexton secret set {name} --host HOST",
        )


@command
async def keep(
    context: Context, settings: Settings, name: str, value: str, binding: Binding = ANYWHERE
) -> bool:
    """Set a secret; whether it is new."""
    check_secret_name(name, "name")
    if not value or len(value.encode()) > LARGEST or "\0" in value:
        what = f"a secret has 1 to {LARGEST:,} bytes, and no NUL character"
        raise InvalidField("bad_secret", what, field="value", hint="pass it on the standard input")
    sealed = encrypt(AESGCM(read_key(settings.secret_key)), context.namespace, name, binding, value)
    row = await context.fetchrow("secrets/get", namespace=context.namespace, name=name)
    made = await context.fetchval(
        "secrets/set",
        namespace=context.namespace,
        name=name,
        value=sealed,
        hosts=list(binding.hosts),
        kinds=list(binding.kinds),
        now=context.now,
    )
    before = {} if row is None else {"hosts": row["hosts"], "kinds": row["kinds"]}
    after = {"hosts": list(binding.hosts), "kinds": list(binding.kinds)}
    # The audit does not say whether the value has changed.
    context.changed("secret.set", name, name, before=before, after=after, detail={"new": row is None})
    return bool(made)


async def names(context: Context) -> list[dict[str, Any]]:
    """Every secret's name, where it may go, and when it was made and changed."""
    return [dict(row) for row in await context.fetch("secrets/list", namespace=context.namespace)]


@command
async def delete(context: Context, name: str) -> None:
    if await context.fetchval("secrets/delete", namespace=context.namespace, name=name) is None:
        raise not_found("secret", name)
    context.changed("secret.deleted", name, name)


@command
async def rekey(
    context: Context, old: str | None, new: str, *, forget: bool = False
) -> tuple[int, list[str]]:
    """Encrypt every secret with another key. Returns how many, and the names of those that the old key cannot
    read. One such secret stops the command, unless `forget` deletes it."""
    before = _cipher(old)
    after = AESGCM(read_key(new))
    lost, count = [], 0
    for row in await context.fetch("secrets/list_sealed"):
        namespace, name = row["namespace"], row["name"]
        binding = Binding(tuple(row["hosts"]), tuple(row["kinds"]))
        try:
            value = decrypt(before, namespace, name, binding, row["value"])
        except SecretError:
            if not forget:
                raise
            lost.append(name)
            await context.execute("secrets/delete", namespace=namespace, name=name)
            context.changed("secret.deleted", name, name, namespace=namespace, reason="its key is lost")
            continue
        await context.execute(
            "secrets/set",
            namespace=namespace,
            name=name,
            value=encrypt(after, namespace, name, binding, value),
            hosts=row["hosts"],
            kinds=row["kinds"],
            now=context.now,
        )
        count += 1
    context.changed("secrets.rekeyed", namespace=SHARED, detail={"count": count})
    for kept in await _sealed_settings(context):
        try:
            value = SealedSetting.seal(kept.name, kept.open(before), after)
            await context.execute("cluster/set_setting", name=kept.name, value=value)
        except SecretError:
            if not forget:
                raise
            lost.append(kept.name)
            await context.execute("cluster/remove_setting", name=kept.name)
    return count, lost


async def unreadable(context: Context, source: str | None) -> list[str]:
    """The names of the secrets that this key cannot open; all of them without a key."""
    try:
        cipher = AESGCM(read_key(source))
    except SecretError:
        cipher = None
    found = []
    for row in await context.fetch("secrets/list_sealed"):
        try:
            binding = Binding(tuple(row["hosts"]), tuple(row["kinds"]))
            decrypt(cipher, row["namespace"], row["name"], binding, row["value"])
        except SecretError:
            found.append(row["name"])
    for kept in await _sealed_settings(context):
        try:
            kept.open(cipher)
        except SecretError:
            found.append(kept.name)
    return found


class SealedSetting(msgspec.Struct, frozen=True):
    """A secret of the installation, as the settings hold it: sealed, or in clear without a key."""

    name: str
    sealed: str | None = None
    clear: Any = None

    @classmethod
    def read(cls, name: str, text: str) -> SealedSetting:
        value = msgspec.json.decode(text)
        return cls(name, sealed=value["sealed"]) if isinstance(value, dict) else cls(name, clear=value)

    @classmethod
    def seal(cls, name: str, value: Any, cipher: AESGCM | None) -> str:
        """As JSON, for the settings."""
        text = json.dumps(value)
        if cipher is None:
            return text
        sealed = encrypt(cipher, "", name, ANYWHERE, text)
        return json.dumps({"sealed": base64.b64encode(sealed).decode()})

    def open(self, cipher: AESGCM | None) -> Any:
        if self.sealed is None:
            return self.clear
        return json.loads(decrypt(cipher, "", self.name, ANYWHERE, base64.b64decode(self.sealed)))


async def sealed_setting(
    database: Database, source: str | None, name: str, new: str, connection: Connection | None = None
) -> Any:
    """A secret of the installation; `new` becomes its first value. With a key it is sealed, also if it was
    stored in clear before."""
    cipher = _cipher(source)
    text = await database.fetchval(
        "cluster/keep_setting", on=connection, name=name, value=SealedSetting.seal(name, new, cipher)
    )
    kept = SealedSetting.read(name, text)
    value = kept.open(cipher)
    if kept.sealed is None and cipher is not None:
        await database.execute(
            "cluster/set_setting", on=connection, name=name, value=SealedSetting.seal(name, value, cipher)
        )
    return value


async def keep_webhook_secret(context: Context, source: str | None, value: list[str]) -> None:
    sealed = SealedSetting.seal(WEBHOOK_SECRET, value, _cipher(source))
    await context.execute("cluster/set_setting", name=WEBHOOK_SECRET, value=sealed)


async def _sealed_settings(context: Context) -> list[SealedSetting]:
    """All that are stored."""
    texts = [(name, await context.fetchval("cluster/get_setting", name=name)) for name in SEALED]
    return [SealedSetting.read(name, text) for name, text in texts if text is not None]


def encrypt(cipher: AESGCM, namespace: str, name: str, binding: Binding, value: str) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, value.encode(), binding.authenticated(namespace, name))


def decrypt(cipher: AESGCM | None, namespace: str, name: str, binding: Binding, sealed: bytes) -> str:
    """Raises `SecretError` if the secret was sealed with another key, or there is none."""
    nonce, content = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        if cipher is None:
            raise InvalidTag
        return cipher.decrypt(nonce, content, binding.authenticated(namespace, name)).decode()
    except InvalidTag:
        raise SecretError(
            "wrong_key",
            f"the secret {name} was made with another key",
            hint="give every process the same SEXTON_SECRET_KEY, or set the secret again",
        ) from None


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def _cipher(source: str | None) -> AESGCM | None:
    return None if source is None else AESGCM(read_key(source))


def read_key(source: str | None) -> bytes:
    """The key: 32 bytes in base64, or `@FILE` with them."""
    if source is None:
        hint = "set SEXTON_SECRET_KEY, the same in every process; sexton secret key makes one"
        raise SecretError("no_key", "there is no key for secrets", hint=hint)
    text = source
    if source.startswith("@"):
        try:
            text = Path(source[1:]).read_text("ascii")
        except (OSError, UnicodeDecodeError) as error:
            hint = "make a secret first: sexton secret set NAME; or set SEXTON_SECRET_KEY"
            raise SecretError("no_key", f"the key for secrets cannot be read: {error}", hint=hint) from None
    try:
        key = base64.b64decode(re.sub(r"\s", "", text), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        what = f"secret_key is not {KEY_BYTES} bytes in base64"
        raise SecretError("bad_key", what, hint="make one: sexton secret key")
    return key


def key_file(data: Path) -> Path:
    """Beside the data directory, so that a copy of the data is not a copy of the key."""
    return data.with_name(data.name + ".key")


def make_key_file(path: Path) -> None:
    """Make a key file, unless it exists."""
    make_private_file(path, new_key())


def key_source(settings: Settings) -> str | None:
    """Where the key is: as the settings say, or in the file beside the private PostgreSQL."""
    if settings.secret_key is not None or settings.database_url is not None:
        return settings.secret_key
    return f"@{key_file(settings.data or default_data_directory())}"


async def with_own_key(context: Context, settings: Settings) -> Settings:
    """The settings with their key: for the private PostgreSQL it is in a file beside it, which is made here.
    Raises `SecretError` if the file is gone although something is sealed with the key, and `Conflict` if
    another user may have written it."""
    source = key_source(settings)
    if source == settings.secret_key or source is None:
        return settings
    path = Path(source[1:])
    if not path.exists():
        lost = await unreadable(context, None)
        # Another process may have made it meanwhile, and sealed something with it.
        if lost and not path.exists():
            raise SecretError(
                "lost_key",
                f"the key file {path} is gone, and {', '.join(lost)} cannot be read without it",
                hint="put the file back; if it is lost for good: sexton secret rekey --forget, "
                "then set each secret again",
            )
        make_key_file(path)
    check_own_file(path)
    return msgspec.structs.replace(settings, secret_key=source)


async def with_key_at_start(context: Context, settings: Settings) -> Settings:
    """The same at the start of a process: without its key it logs an error, and does everything that needs no
    key."""
    try:
        return await with_own_key(context, settings)
    except SecretError as error:
        log.error("%s (%s)", error, error.hint)
        return msgspec.structs.replace(settings, secret_key=key_source(settings))
