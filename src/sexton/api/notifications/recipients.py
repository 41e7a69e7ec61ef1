"""Recipients over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton.api.lines import CSV, Chunk, LinesBody
from sexton.api.notifications import routes
from sexton.api.notifications.messages import NOTIFICATION
from sexton.api.notifications.routes import RecipientsBulkQuery, RecipientsQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import counted
from sexton.api.security.guard import LINES_TYPES
from sexton.notifications.recipients import recipient
from sexton.notifications.recipients.csv_file import RecipientCsv
from sexton.notifications.recipients.export import RecipientExport, export_recipient
from sexton.notifications.recipients.recipient import ErasureView, RecipientView
from sexton.notifications.spec import RecipientLine, RecipientSpec
from sexton.refusal import about

REQUEST: dict[str, Any] = {
    "email": "ann@example.org",
    "phone": "+4915112345678",
    "timezone": "Europe/Berlin",
    "locale": "de",
    "quiet_hours": {"start": "22:00", "end": "08:00"},
    "fields": {"name": "Ann"},
}
RECIPIENT: dict[str, Any] = {
    **REQUEST,
    "user_id": "ann",
    "devices": [],
    "addresses": {},
    "opt_outs": [],
    "caps": [],
    "suppressed_at": None,
    "suppressed_reason": None,
    "created_at": "2027-03-01T12:00:00Z",
    "updated_at": "2027-03-01T12:00:00Z",
}


class RecipientsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was stored."""

    lines: Annotated[int, about("How many recipients the body had.")]
    created: Annotated[int, about("How many are new.")]
    changed: Annotated[int, about("How many existed already, and were changed.")]


@operation(routes.LIST_RECIPIENTS, lists=True, answer=list[RecipientView], answer_example=[RECIPIENT])
async def list_recipients(call: Call) -> Answer:
    """In the order of their ids."""
    page = await recipient.list_recipients(call.reading, **call.filters(RecipientsQuery))
    return await counted(call, page, recipient.count_recipients, RecipientsQuery)


@operation(
    routes.IMPORT_RECIPIENTS, status=200, body_types=(*LINES_TYPES, CSV), streams=True,
    answer=RecipientsAnswer,
    example='{"user_id": "ann", "email": "ann@example.org", "timezone": "Europe/Berlin"}\n',
    answer_example={"lines": 1, "created": 1, "changed": 0},
)  # fmt: skip
async def import_recipients(call: Call) -> Answer:
    """One recipient per line, as JSON with `user_id`, or as CSV whose first line names the columns;
    `field.NAME` is a field of your own. Fields that a line leaves out keep their values. Lines are stored in
    chunks, each all or nothing. If a line is refused, the answer is 422 with `errors` by line number; the
    other chunks are still stored. The same body can be sent again."""
    query = call.query(RecipientsBulkQuery)
    body = LinesBody(call, query.chunk, RecipientCsv)
    taken, created = 0, 0

    async def take(_: Chunk, items: list[RecipientLine | bytes | str]) -> tuple[int, int]:
        return len(items), await recipient.import_recipients(call.context, items)

    async for count, new in body.taken(take):
        taken, created = taken + count, created + new
    answer = RecipientsAnswer(lines=body.count, created=created, changed=taken - created)
    return body.answer(answer, "recipient", taken, "taken")


@operation(routes.PUT_RECIPIENT, answer=RecipientView, example=REQUEST, answer_example=RECIPIENT)
async def put_recipient(call: Call) -> Answer:
    """Fields that are left out become empty; PATCH keeps them."""
    spec = call.json(RecipientSpec)
    return Answer(await recipient.put_recipient(call.context, call.path("user_id"), spec))


@operation(
    routes.CHANGE_RECIPIENT, answer=RecipientView, example={"timezone": "America/New_York"},
    answer_example={**RECIPIENT, "timezone": "America/New_York"},
)  # fmt: skip
async def change_recipient(call: Call) -> Answer:
    """Fields that are left out keep their values; null clears a field."""
    call.json(RecipientSpec)
    changes = msgspec.json.decode(call.body)
    return Answer(await recipient.change_recipient(call.context, call.path("user_id"), changes))


@operation(routes.GET_RECIPIENT, answer=RecipientView, answer_example=RECIPIENT)
async def get_recipient(call: Call) -> Answer:
    """Addresses, zone, language, quiet hours, opt-outs, caps and fields."""
    return Answer(await recipient.get_recipient(call.context, call.path("user_id")))


@operation(
    routes.EXPORT_RECIPIENT, answer=RecipientExport,
    answer_example={
        "recipient": RECIPIENT, "notifications": [NOTIFICATION], "more": False, "suppressions": [],
    },
)  # fmt: skip
async def export(call: Call) -> Answer:
    """For a person who asks what is stored about them: the recipient, and the latest messages."""
    return Answer(await export_recipient(call.context, call.path("user_id")))


@operation(
    routes.ERASE_RECIPIENT, answer=ErasureView,
    answer_example={
        "user_id": "ann", "erased_at": "2027-03-01T12:00:00Z", "rows": {"recipients": 1, "messages": 3},
        "certificate": "recipient.erased",
    },
)  # fmt: skip
async def erase_recipient(call: Call) -> Answer:
    """Deletes the recipient, the messages with all their events, counts and suppressed addresses. Waiting
    messages are not sent. The audit records that it was done, when and by whom."""
    return Answer(
        await recipient.erase_recipient(call.context, call.path("user_id"), reason=call.context.reason)
    )
