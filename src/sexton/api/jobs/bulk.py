"""Many jobs in one request: JSON lines, made in chunks."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api.jobs import routes
from sexton.api.jobs.routes import BulkQuery
from sexton.api.lines import Chunk, LinesBody
from sexton.api.operation import Answer, Call, operation
from sexton.api.security.guard import LINES_TYPES
from sexton.jobs.bulk import Result, create_many, put_many
from sexton.postgres.transaction import Context


class BulkResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one line."""

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
    unchanged: Annotated[int, Meta(description="How many existed already, with this definition.")] = 0
    job_ids: Annotated[list[str] | None, Meta(description="Their ids, in order, if asked for.")] = None
    results: Annotated[
        list[BulkResult] | None, Meta(description="The result of each line, if asked for.")
    ] = None


@operation(
    routes.CREATE_JOBS, status=201, body_types=LINES_TYPES, streams=True, answer=BulkAnswer,
    example='{"name": "a", "schedule": "every 1m"}\n{"name": "b", "schedule": "0 9 * * *"}\n',
    answer_example={"lines": 2, "created": 2},
)  # fmt: skip
async def create_jobs(call: Call) -> Answer:
    """One job per line, as for POST /jobs. Lines are made in chunks, each all or nothing. If a line is
    refused, the answer is 422 with `created` and with `errors` by line number; the other chunks are still
    made. With `existing=replace` the same body can be sent again: existing jobs are changed, or stay as they
    are."""
    query = call.query(BulkQuery)
    body = LinesBody(call, query.chunk)
    counts, results = Counter[Result](), list[BulkResult]()
    put = put_many if query.existing == "replace" else create_many

    async def take(chunk: Chunk, items: list[bytes]) -> list[BulkResult]:
        async def make(context: Context) -> list[BulkResult]:
            done = await put(context, items)
            return [BulkResult(line, *each) for (line, _), each in zip(chunk, done, strict=True)]

        return await body.once(chunk, f"bulk {query.existing}", make, list[BulkResult])

    async for done in body.taken(take):
        counts.update(each.result for each in done)
        if query.ids or query.results:
            results += done
    answer = BulkAnswer(
        lines=body.count,
        created=counts["created"],
        changed=counts["changed"],
        unchanged=counts["unchanged"],
        job_ids=[each.job_id for each in results] if query.ids else None,
        results=results if query.results else None,
    )
    return body.answer(answer, "job", answer.created, "made")
