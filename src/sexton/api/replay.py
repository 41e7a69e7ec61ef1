"""`Idempotency-Key`: the same request again gets the same answer for a day, and has no second effect.

The answer is stored in the transaction of the effect, so there is never one without the other. An advisory
lock makes a repeat that comes too early wait for the first to end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.jobs.change import within
from sexton.postgres.database import Connection, Database

KEPT = timedelta(hours=24)
LONGEST = 255


class Stored(msgspec.Struct, frozen=True):
    """An answer as it is kept."""

    status: int
    headers: dict[str, str]
    body: bytes


def fingerprint(method: str, path: str, body: bytes) -> str:
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(), body))).hexdigest()


def check_key(key: str) -> str:
    if not 1 <= len(key) <= LONGEST or not key.isprintable():
        raise InvalidField(
            "bad_idempotency_key",
            f"an Idempotency-Key has 1 to {LONGEST} printable characters",
            field="Idempotency-Key",
            hint="use a UUID",
        )
    return key


async def once(
    database: Database, key: str, print_: str, effect: Callable[[Connection], Awaitable[Stored]]
) -> tuple[Stored, bool]:
    """The answer, and whether it is a repeated one. As without a key, what met a deadlock is done again."""

    async def work(connection: Connection) -> tuple[Stored, bool]:
        await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 7390))", key)
        row = await connection.fetchrow(database.statement("get_request"), key, KEPT)
        if row is not None:
            if row["fingerprint"] != print_:
                raise Conflict(
                    "idempotency_key_reused",
                    "this Idempotency-Key was used for another request within the last 24 hours",
                    hint="use a new key for a new request",
                )
            headers = msgspec.json.decode(row["headers"], type=dict[str, str])
            return Stored(row["status"], headers, row["body"].encode()), True
        answer = await effect(connection)
        await connection.execute(
            database.statement("keep_request"),
            key, print_, answer.status, msgspec.json.encode(answer.headers).decode(), answer.body.decode(),
        )  # fmt: skip
        return answer, False

    return await within(database, None, work)
