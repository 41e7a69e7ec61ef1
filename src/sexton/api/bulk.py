"""Many jobs in one request: JSON lines, read as they come and made in chunks, each all or nothing.

The body is never held as a whole. A chunk that is refused is refused whole, with its lines at fault; the
others are made. With an Idempotency-Key every chunk is remembered by itself, so that an import that broke
off can be sent again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api import problems, routes
from sexton.api.guard import LINES_TYPES
from sexton.api.operation import Answer, Call, operation
from sexton.api.problems import LineError
from sexton.api.replay import StoredAnswer, check_key, fingerprint, once
from sexton.api.routes import BulkQuery
from sexton.errors import InvalidField
from sexton.jobs.bulk import RefusedLines, create_many
from sexton.postgres.transaction import Context

LONGEST_LINE = 512 * 1024
MOST_ERRORS = 1000
# A chunk is cut by size too: fewer lines if they are long.
LARGEST_CHUNK = 8 * 1024 * 1024


class BulkAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was made."""

    lines: Annotated[int, Meta(description="How many jobs the body had.")]
    created: Annotated[int, Meta(description="How many were made.")]
    job_ids: Annotated[list[str] | None, Meta(description="Their ids, in order, if asked for.")] = None


async def chunks_of(stream: AsyncIterator[bytes], size: int) -> AsyncIterator[list[tuple[int, bytes]]]:
    """Cut a stream of bytes into chunks of whole lines, each with its number. Empty lines are counted, but
    are no jobs."""
    rest, number = b"", 0
    chunk: list[tuple[int, bytes]] = []
    weight = 0
    async for part in stream:
        *lines, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
        if len(rest) > LONGEST_LINE:
            raise _too_long(number + len(lines) + 1)
        for line in lines:
            number += 1
            if line.strip():
                chunk.append((number, line))
                weight += len(line)
            if len(chunk) >= size or weight > LARGEST_CHUNK:
                yield chunk
                chunk, weight = [], 0
    if rest.strip():
        chunk.append((number + 1, rest))
    if chunk:
        yield chunk


@operation(
    routes.CREATE_JOBS, status=201, body_types=LINES_TYPES, streams=True, answer=BulkAnswer,
    errors=(409, 422),
    example='{"name": "a", "schedule": "every 1m"}\n{"name": "b", "schedule": "0 9 * * *"}\n',
    answer_example={"lines": 2, "created": 2},
)  # fmt: skip
async def create_jobs(call: Call) -> Answer:
    """One job per line, as for POST /jobs. Lines are made in chunks, each all or nothing; if one is
    refused the answer is 422 with `created` and `errors` by line number, and the other chunks are made
    all the same."""
    query = call.query(BulkQuery)
    key = call.request.headers.get("idempotency-key")
    lines, created, ids, errors = 0, 0, list[str](), list[LineError]()
    async for chunk in chunks_of(call.request.stream(), query.chunk):
        lines += len(chunk)
        try:
            made = await _make(call, chunk, None if key is None else check_key(key))
        except RefusedLines as refused:
            errors += _line_errors(refused, chunk)[: MOST_ERRORS - len(errors)]
            continue
        created += len(made)
        if query.ids:
            ids += made
    if errors:
        return _refusal(lines, created, errors, ids if query.ids else None)
    return Answer(BulkAnswer(lines=lines, created=created, job_ids=ids if query.ids else None))


async def _make(call: Call, chunk: list[tuple[int, bytes]], key: str | None) -> list[str]:
    items = [line for _, line in chunk]
    if key is None:
        return await create_many(call.context, items)

    async def effect(context: Context) -> StoredAnswer:
        made = await create_many(context, items)
        return StoredAnswer(201, {}, msgspec.json.encode(made))

    first = f"{key[:200]}#{chunk[0][0]}"
    stored, _ = await once(call.context, first, fingerprint("POST", "bulk", b"\n".join(items)), effect)
    return msgspec.json.decode(stored.body, type=list[str])


def _line_errors(refused: RefusedLines, chunk: list[tuple[int, bytes]]) -> list[LineError]:
    """`create_many` counts the items of its chunk from 1; people count the lines of their file."""
    return [
        LineError(
            line=chunk[index - 1][0],
            code=error.code,
            detail=error.message,
            field=getattr(error, "field", None),
            hint=error.hint,
        )
        for index, error in refused.errors
    ]


def _refusal(lines: int, created: int, errors: list[LineError], ids: list[str] | None) -> Answer:
    body = msgspec.to_builtins(errors)
    response = problems.problem(
        422,
        "lines_refused",
        f"{len(errors)} line{'s' if len(errors) > 1 else ''} refused; of {lines} jobs {created} were made",
        field=f"line {errors[0].line}",
        hint="correct the lines and send the chunks that were refused again",
        lines=lines,
        created=created,
        errors=body,
        job_ids=ids,
    )
    return Answer(response.content, status=422, headers={"Content-Type": problems.MEDIA_TYPE})


def _too_long(line: int) -> InvalidField:
    return InvalidField(
        "body_too_large",
        f"line {line} is longer than {LONGEST_LINE} bytes",
        field=f"line {line}",
        hint="payloads may have 256 KiB",
    )


OPERATIONS = (create_jobs,)
