"""Many planned actions in one request: JSON lines or CSV, planned in chunks."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sexton.api.content import routes
from sexton.api.content.routes import ImportQuery
from sexton.api.lines import CSV, Chunk, LinesBody
from sexton.api.operation import Answer, Call, operation
from sexton.api.security.guard import LINES_TYPES
from sexton.content.bulk import CsvReader, ImportItem, create_many
from sexton.postgres.transaction import Context
from sexton.refusal import about


class ImportAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was planned."""

    lines: Annotated[int, about("How many actions the body had.")]
    created: Annotated[int, about("How many were planned.")]
    schedule_ids: Annotated[list[str] | None, about("Their ids, in order, if asked for.")] = None


@operation(
    routes.IMPORT_SCHEDULES, status=201, body_types=(*LINES_TYPES, CSV), streams=True, answer=ImportAnswer,
    example='{"entity_type": "post", "entity_id": 1, "action": "publish", "at": "2027-03-14T08:00:00Z", '
    '"created_by": "ann"}\n',
    answer_example={"lines": 1, "created": 1},
)  # fmt: skip
async def import_schedules(call: Call) -> Answer:
    """One action per line, as for POST /content/schedules. With `text/csv`, the first line names the columns.
    Lines are planned in chunks, each all or nothing. If a line is refused, the answer is 422 with `created`
    and with `errors` by line number; the other chunks are still planned."""
    query = call.query(ImportQuery)
    body = LinesBody(call, query.chunk, CsvReader)
    created, made = 0, list[str]()

    async def take(chunk: Chunk, items: list[ImportItem]) -> list[str]:
        async def make(context: Context) -> list[str]:
            return await create_many(context, items, force=query.force)

        return await body.once(chunk, f"content bulk {query.force}", make, list[str])

    async for done in body.taken(take):
        created += len(done)
        if query.ids:
            made += done
    answer = ImportAnswer(lines=body.count, created=created, schedule_ids=made if query.ids else None)
    return body.answer(answer, "action", created, "planned")
