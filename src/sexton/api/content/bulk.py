"""Many planned actions in one request: JSON lines or CSV, read as they come and planned in chunks, each all
or nothing. The body is never held as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from sexton.api import problems
from sexton.api.content import routes
from sexton.api.content.routes import ImportQuery
from sexton.api.jobs.bulk import MOST_ERRORS, chunks_of, line_errors
from sexton.api.operation import Answer, Call, operation
from sexton.api.problems import LineError
from sexton.api.replay import StoredAnswer, check_key, fingerprint, once
from sexton.api.request_id import request_id_of
from sexton.api.security.guard import LINES_TYPES
from sexton.content.bulk import CsvReader, ImportItem, create_many
from sexton.errors import RefusedLines, SextonError
from sexton.postgres.transaction import Context
from sexton.printable import counted
from sexton.refusal import about

CSV = "text/csv"


class ImportAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was planned."""

    lines: Annotated[int, about("How many actions the body had.")]
    created: Annotated[int, about("How many were planned.")]
    schedule_ids: Annotated[list[str] | None, about("Their ids, in order, if asked for.")] = None


@operation(
    routes.IMPORT_SCHEDULES, status=201, body_types=(*LINES_TYPES, CSV), streams=True, answer=ImportAnswer,
    errors=(409, 422),
    example='{"entity_type": "post", "entity_id": 1, "action": "publish", "at": "2027-03-14T08:00:00Z", '
    '"created_by": "ann"}\n',
    answer_example={"lines": 1, "created": 1},
)  # fmt: skip
async def import_schedules(call: Call) -> Answer:
    """One action per line, as for POST /content/schedules; with `text/csv`, the first line names the columns.
    Lines are planned in chunks, each all or nothing; if one is refused the answer is 422 with `created` and
    `errors` by line number, and the other chunks are planned all the same."""
    query = call.query(ImportQuery)
    key = call.request.headers.get("idempotency-key")
    is_csv = call.request.headers.get("content-type", "").partition(";")[0].strip().lower() == CSV
    reader: CsvReader | None = None
    count, made, errors = 0, list[str](), list[LineError]()
    created = 0
    async for chunk in chunks_of(call.request.stream(), query.chunk):
        if is_csv and reader is None:
            reader = CsvReader(chunk[0][1])
            chunk = chunk[1:]
        count += len(chunk)
        try:
            done = await _plan(call, chunk, reader, query, None if key is None else check_key(key))
        except RefusedLines as refused:
            errors += line_errors(refused, chunk)[: MOST_ERRORS - len(errors)]
            continue
        created += len(done)
        if query.ids:
            made += done
    answer = ImportAnswer(lines=count, created=created, schedule_ids=made if query.ids else None)
    return _refusal(answer, errors, request_id_of(call.request)) if errors else Answer(answer)


async def _plan(
    call: Call,
    chunk: Sequence[tuple[int, bytes]],
    reader: CsvReader | None,
    query: ImportQuery,
    key: str | None,
) -> list[str]:
    if not chunk:
        return []

    async def make(context: Context) -> list[str]:
        return await create_many(context, _items(chunk, reader), force=query.force)

    if key is None:
        return await make(call.context)

    async def effect(context: Context) -> StoredAnswer:
        return StoredAnswer(201, {}, msgspec.json.encode(await make(context)))

    first = f"{key[:200]}#{chunk[0][0]}"
    print_ = fingerprint("POST", f"content bulk {query.force}", b"\n".join(line for _, line in chunk))
    stored, _ = await once(call.context, first, print_, effect)
    return msgspec.json.decode(stored.body, type=list[str])


def _items(chunk: Sequence[tuple[int, bytes]], reader: CsvReader | None) -> list[ImportItem]:
    if reader is None:
        return [line for _, line in chunk]
    items, faults = list[ImportItem](), list[tuple[int, SextonError]]()
    for number, (_, line) in enumerate(chunk, 1):
        try:
            items.append(reader.read(line))
        except SextonError as error:
            faults.append((number, error))
    if faults:
        raise RefusedLines(faults)
    return items


def _refusal(answer: ImportAnswer, errors: list[LineError], request_id: str | None) -> Answer:
    actions = counted(answer.lines, "action")
    told = f"{counted(len(errors), 'line')} refused; of {actions} {answer.created} were planned"
    extra: dict[str, Any] = msgspec.to_builtins(answer)
    response = problems.problem(
        422,
        "lines_refused",
        told,
        field=f"line {errors[0].line}",
        hint="correct the lines and send the chunks that were refused again",
        errors=msgspec.to_builtins(errors),
        request_id=request_id,
        **extra,
    )
    return Answer(response.content, status=422, headers={"Content-Type": problems.MEDIA_TYPE})


OPERATIONS = (import_schedules,)
