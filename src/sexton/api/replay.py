"""`Idempotency-Key`: repeating a request within a day returns the same answer and has no second effect.

The answer is stored in the transaction of the effect, so there is never one without the other. An advisory
lock makes a repeat that arrives early wait for the first request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.postgres import locks
from sexton.postgres.transaction import Context, command

KEPT = timedelta(hours=24)
LONGEST = 255


class StoredAnswer(msgspec.Struct, frozen=True):
    """A stored answer."""

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


@command
async def once(
    context: Context, key: str, print_: str, effect: Callable[[Context], Awaitable[StoredAnswer]]
) -> tuple[StoredAnswer, bool]:
    """The answer, and whether it is a repeat."""
    await context.open.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, $2))",
        f"{context.namespace} {key}",
        locks.IDEMPOTENCY_KEY_SEED,
    )
    row = await context.fetchrow("jobs/find_request", namespace=context.namespace, key=key, kept=KEPT)
    if row is not None:
        if row["fingerprint"] != print_:
            raise Conflict(
                "idempotency_key_reused",
                "this Idempotency-Key was used for another request within the last 24 hours",
                hint="use a new key for a new request",
            )
        headers = msgspec.json.decode(row["headers"], type=dict[str, str])
        return StoredAnswer(row["status"], headers, row["body"].encode()), True
    answer = await effect(context)
    await context.execute(
        "jobs/keep_request",
        namespace=context.namespace,
        key=key,
        fingerprint=print_,
        status=answer.status,
        headers=msgspec.json.encode(answer.headers).decode(),
        body=answer.body.decode(),
    )
    return answer, False
