"""API keys: made and shown once, kept as a keyed hash, each with a role in a namespace.

A key is `sxn_`, 32 random characters, and six that are a checksum of those: a scanner can tell a leaked key
from a random text, and a mistyped one is refused without asking the database.
"""

from __future__ import annotations

import hmac
import secrets
import zlib
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Annotated

import msgspec
from asyncpg import Record

from sexton.clock import iso
from sexton.errors import Conflict, InvalidField
from sexton.model import encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.page import number_in_cursor
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, command
from sexton.refusal import about, check_text, not_found
from sexton.security.key_spec import LONGEST_NAME, KeySpec
from sexton.security.role import EVERY_NAMESPACE, Role
from sexton.security.secrets import PEPPER, SecretError, sealed_setting

PREFIX = "sxn_"
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM, CHECK = 32, 6
SHOWN = len(PREFIX) + 6


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """An API key, without its text."""

    key_id: Annotated[str, about("The id of the key, `k_…`.")]
    name: Annotated[str, about("The name of the key: what it is for.")]
    role: Annotated[Role, about("The role of the key.")]
    namespace: Annotated[str, about("The namespace of the role; `*`: all namespaces.")]
    beginning: Annotated[str, about("The first characters of the key, to recognise it.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    expires_at: Annotated[datetime | None, about("When the key expires; null: never.")]
    revoked_at: Annotated[datetime | None, about("When it was revoked.")]
    last_used_at: Annotated[datetime | None, about("When it was used last, to the minute.")]
    rate: Annotated[
        float | None, about("Requests per second that the key may send to each process; null: `api_rate`.")
    ]


class NewKey(KeyView, frozen=True, kw_only=True):
    """A key that was just made."""

    key: Annotated[str, about("The key itself. It is shown only in this answer.")]


def new_key() -> str:
    body = "".join(secrets.choice(LETTERS) for _ in range(RANDOM))
    return f"{PREFIX}{body}{_checksum(body)}"


def well_formed(text: str) -> bool:
    """Whether the checksum fits: whether this can be a key of Sexton's."""
    body = text.removeprefix(PREFIX)
    return (
        text.startswith(PREFIX)
        and len(body) == RANDOM + CHECK
        and body.isascii()
        and hmac.compare_digest(_checksum(body[:RANDOM]), body[RANDOM:])
    )


def _checksum(body: str) -> str:
    number, letters = zlib.crc32(body.encode()), ""
    for _ in range(CHECK):
        number, letter = divmod(number, len(LETTERS))
        letters = LETTERS[letter] + letters
    return letters


def hash_of(text: str, pepper: bytes) -> bytes:
    return hmac.digest(pepper, text.encode(), sha256)


async def read_pepper(database: Database, source: str | None, connection: Connection | None = None) -> bytes:
    """The key of the hashes: made on first use, and encrypted with the key for secrets. Raises `Conflict` if
    `source` names another key for secrets."""
    try:
        return bytes.fromhex(
            await sealed_setting(database, source, PEPPER, secrets.token_hex(32), connection)
        )
    except SecretError as error:
        raise Conflict(
            "keys_unreadable",
            f"API keys and sessions cannot be checked without the key for secrets: {error.message}",
            hint="give every process the same SEXTON_SECRET_KEY; if it is lost for good, "
            "sexton secret rekey --forget ends all keys and sessions",
        ) from error


@command
async def create_key(context: Context, spec: KeySpec, source: str | None = None) -> NewKey:
    """Make a key. Its text is in the answer, and nowhere else. `source` is the key for secrets."""
    pepper = await read_pepper(context.database, source, context.connection)
    check_text(spec.name, "name", LONGEST_NAME)
    now = await context.time()
    if spec.expires_at is not None and spec.expires_at <= now:
        raise InvalidField(
            "bad_time",
            f"expires_at, {iso(spec.expires_at)}, is in the past",
            field="expires_at",
            hint="give a time in the future",
        )
    namespace = spec.namespace or context.namespace
    text = new_key()
    row = await context.fetchrow(
        "access/create_key",
        namespace=namespace,
        name=spec.name,
        role=spec.role,
        hash=hash_of(text, pepper),
        beginning=text[:SHOWN],
        actor=context.actor,
        now=context.now,
        expires_at=spec.expires_at,
        rate=spec.rate,
    )
    if row is None:
        raise not_found("namespace", namespace)
    made = NewKey(**msgspec.structs.asdict(_view(row)), key=text)
    after = {name: getattr(made, name) for name in ("role", "beginning", "expires_at", "rate")}
    context.changed("key.created", made.key_id, made.name, after=after, namespace=namespace)
    return made


async def list_keys(
    context: Context, *, cluster: bool = False, after: str | None = None, limit: int = 100
) -> list[KeyView]:
    """The keys of the namespace, or with `cluster` of all of them."""
    rows = await context.fetch(
        "access/list_keys",
        namespace=EVERY_NAMESPACE if cluster else context.namespace,
        after=0 if after is None else number_in_cursor(after, "k"),
        limit=limit,
    )
    return [_view(row) for row in rows]


@command
async def revoke_key(context: Context, key_id: str, *, cluster: bool = False) -> KeyView:
    """End a key: every process that serves the API refuses it within two seconds."""
    return _view(await _end(context, "key.revoked", key_id, cluster, expires_at=None))


@command
async def rotate_key(
    context: Context,
    key_id: str,
    *,
    overlap_seconds: int = 86_400,
    cluster: bool = False,
    source: str | None = None,
) -> NewKey:
    """Make a key like this one, with the same lifetime. The old key ends after `overlap_seconds`."""
    now = await context.time()
    end = now + timedelta(seconds=overlap_seconds)
    row = await _end(context, "key.rotated", key_id, cluster, expires_at=end)
    old = _view(row)
    if old.revoked_at is not None or (old.expires_at is not None and old.expires_at < now):
        hint = "make a new one: sexton keys create"
        raise InvalidField("key_ended", f"the key {key_id} has ended", field="key_id", hint=hint)
    expires_at = None if row["expired_at"] is None else now + (row["expired_at"] - old.created_at)
    spec = KeySpec(
        name=old.name, role=old.role, namespace=old.namespace, expires_at=expires_at, rate=old.rate
    )
    return await create_key(context, spec, source)


async def _end(
    context: Context, action: str, key_id: str, cluster: bool, expires_at: datetime | None
) -> Record:
    row = await context.fetchrow(
        "access/end_key",
        key_id=number_of("k", key_id, "key"),
        namespace=EVERY_NAMESPACE if cluster else context.namespace,
        expires_at=expires_at,
        now=context.now,
    )
    if row is None:
        raise not_found("key", key_id)
    before = {"expires_at": row["expired_at"], "revoked_at": row["ended_at"]}
    after = {name: row[name] for name in before}
    context.changed(action, key_id, row["name"], before=before, after=after, namespace=row["namespace"])
    return row


def _view(row: Record) -> KeyView:
    return from_row(KeyView, row, key_id=encode_id("k", row["id"]), role=Role(row["role"]))
