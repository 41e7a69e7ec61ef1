"""Many jobs in one request: JSON lines, read as they come and made in chunks, each all or nothing.

The body is never held as a whole. A chunk that is refused is refused whole, with its lines at fault; the
others are made. With an Idempotency-Key every chunk is remembered by itself, so that an import that broke
off can be sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api import problems
from sexton.api.jobs import routes
from sexton.api.jobs.routes import BulkQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.problems import LineError
from sexton.api.replay import StoredAnswer, check_key, fingerprint, once
from sexton.api.request_id import request_id_of
from sexton.api.security.guard import LINES_TYPES
from sexton.errors import InvalidField, RefusedLines
from sexton.jobs.bulk import Result, create_many, put_many
from sexton.postgres.transaction import Context

LONGEST_LINE = 512 * 1024
MOST_ERRORS = 1000
# A chunk is cut by size too: fewer lines if they are long.
LARGEST_CHUNK = 8 * 1024 * 1024


class BulkResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one line."""

    line: Annotated[int, Meta(description="Its number in the body.")]
    job_id: Annotated[str, Meta(description="The job's id, `j_…`.")]
    result: Annotated[Result, Meta(description="Whether the job was created, changed, or is unchanged.")]
    warnings: Annotated[
        tuple[str, ...], Meta(description="Other readings of the schedule, if it is new or changed.")
    ] = ()


class BulkAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was made."""

    lines: Annotated[int, Meta(description="How many jobs the body had.")]
    created: Annotated[int, Meta(description="How many were made.")]
    changed: Annotated[int, Meta(description="How many jobs got another definition.")] = 0
    unchanged: Annotated[int, Meta(description="How many were there already, exactly so.")] = 0
    job_ids: Annotated[list[str] | None, Meta(description="Their ids, in order, if asked for.")] = None
    results: Annotated[
        list[BulkResult] | None, Meta(description="What became of each line, if asked for.")
    ] = None


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
    all the same. With `existing=replace` the same body can be sent again: jobs that are there already are
    changed, or stay as they are."""
    query = call.query(BulkQuery)
    key = call.request.headers.get("idempotency-key")
    lines, counts, results, errors = 0, Counter[Result](), list[BulkResult](), list[LineError]()
    async for chunk in chunks_of(call.request.stream(), query.chunk):
        lines += len(chunk)
        try:
            done = await _make(call, chunk, query.existing, None if key is None else check_key(key))
        except RefusedLines as refused:
            errors += line_errors(refused, chunk)[: MOST_ERRORS - len(errors)]
            continue
        counts.update(each.result for each in done)
        if query.ids or query.results:
            results += done
    answer = BulkAnswer(
        lines=lines,
        created=counts["created"],
        changed=counts["changed"],
        unchanged=counts["unchanged"],
        job_ids=[each.job_id for each in results] if query.ids else None,
        results=results if query.results else None,
    )
    return _refusal(answer, errors, request_id_of(call.request)) if errors else Answer(answer)


async def _make(
    call: Call, chunk: list[tuple[int, bytes]], existing: str, key: str | None
) -> list[BulkResult]:
    numbers, items = zip(*chunk, strict=True)

    async def make(context: Context) -> list[BulkResult]:
        done = await (put_many if existing == "replace" else create_many)(context, items)
        return [BulkResult(line, *each) for line, each in zip(numbers, done, strict=True)]

    if key is None:
        return await make(call.context)

    async def effect(context: Context) -> StoredAnswer:
        return StoredAnswer(201, {}, msgspec.json.encode(await make(context)))

    first = f"{key[:200]}#{numbers[0]}"
    print_ = fingerprint("POST", f"bulk {existing}", b"\n".join(items))
    stored, _ = await once(call.context, first, print_, effect)
    return msgspec.json.decode(stored.body, type=list[BulkResult])


def line_errors(refused: RefusedLines, chunk: list[tuple[int, bytes]]) -> list[LineError]:
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


def _refusal(answer: BulkAnswer, errors: list[LineError], request_id: str | None) -> Answer:
    jobs = f"{answer.lines} job{'s' if answer.lines > 1 else ''}"
    response = problems.problem(
        422,
        "lines_refused",
        f"{len(errors)} line{'s' if len(errors) > 1 else ''} refused; of {jobs} {answer.created} were made",
        field=f"line {errors[0].line}",
        hint="correct the lines and send the chunks that were refused again",
        errors=msgspec.to_builtins(errors),
        request_id=request_id,
        **msgspec.to_builtins(answer),
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
