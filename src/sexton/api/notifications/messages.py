"""Single messages over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton.api.lines import Chunk, LinesBody
from sexton.api.notifications import routes
from sexton.api.notifications.routes import NotificationsBulkQuery, NotificationsQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.route import PREFIX
from sexton.api.security.guard import LINES_TYPES
from sexton.notifications import message, read, settings
from sexton.notifications.campaigns import unconfirmed
from sexton.notifications.read import NotificationView
from sexton.notifications.spec import NotificationMove, NotificationSettings, NotificationSpec
from sexton.notifications.why import NotificationWhy, why
from sexton.postgres.transaction import Context
from sexton.refusal import about

REQUEST: dict[str, Any] = {
    "user_id": "ann",
    "channel": "email",
    "template_id": "reminder",
    "template_vars": {"name": "Ann", "when": "2027-03-15T10:00:00Z"},
    "local_time": "2027-03-14 09:00",
    "urgency": "time_sensitive",
}
NOTIFICATION: dict[str, Any] = {
    "notification_id": "n_1",
    "status": "pending",
    "user_id": "ann",
    "channel": "email",
    "channels": ["email"],
    "template_id": "reminder",
    "template_version": 1,
    "send_at_utc": "2027-03-14T08:00:00Z",
    "local_time": "2027-03-14 09:00",
    "timezone": "Europe/Berlin",
    "local_time_display": "2027-03-14 09:00 CET (Europe/Berlin)",
    "next_at": "2027-03-14T08:00:00Z",
    "expires_at": "2027-03-14T08:30:00Z",
    "urgency": "time_sensitive",
    "topic": None,
    "hold_reason": None,
    "sent_at": None,
    "failure_reason": None,
    "retry_count": 0,
    "max_retries": 3,
    "retry_seconds": 300,
    "provider": None,
    "campaign_id": None,
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
}
WHY: dict[str, Any] = {
    "notification_id": "n_1",
    "status": "pending",
    "summary": "scheduled by ann for 2027-03-14 09:00 CET (Europe/Berlin), the recipient's zone",
    "lines": [
        {
            "at": "2027-03-01T12:00:00Z",
            "local": "2027-03-01 13:00 CET (Europe/Berlin)",
            "kind": "scheduled",
            "text": "scheduled by ann for 2027-03-14 09:00 CET (Europe/Berlin), the recipient's zone",
            "detail": {"zone_from": "recipient"},
        }
    ],
    "notification": NOTIFICATION,
}


class NotificationsAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was scheduled."""

    lines: Annotated[int, about("How many messages the body had.")]
    created: Annotated[int, about("How many were scheduled.")]
    notification_ids: Annotated[list[str] | None, about("Their ids, in order, if asked for.")] = None


@operation(
    routes.CREATE_NOTIFICATION, status=201, answer=NotificationView, example=REQUEST,
    answer_example=NOTIFICATION,
)  # fmt: skip
async def create_notification(call: Call) -> Answer:
    """To a recipient or an address, at an instant, at a local time of the recipient, or now. A local time
    that happens twice or not at all is refused with its candidates. Variables that are missing, or whose type
    differs from the template's, are refused."""
    made = await message.create_message(call.context, call.json(NotificationSpec))
    return Answer(made, headers={"Location": f"{PREFIX}/notifications/{made.notification_id}"})


@operation(
    routes.CREATE_NOTIFICATIONS, status=201, body_types=LINES_TYPES, streams=True, answer=NotificationsAnswer,
    example='{"user_id": "ann", "channel": "email", "template_id": "reminder"}\n',
    answer_example={"lines": 1, "created": 1},
)  # fmt: skip
async def create_notifications(call: Call) -> Answer:
    """One message per line, as for POST /notifications. Lines are scheduled in chunks, each all or nothing.
    If a line is refused, the answer is 422 with `created` and with `errors` by line number; the other chunks
    are still scheduled."""
    query = call.query(NotificationsBulkQuery)
    body = LinesBody(call, query.chunk)
    created, ids = 0, list[str]()

    async def take(chunk: Chunk, items: list[bytes]) -> list[str]:
        async def make(context: Context) -> list[str]:
            return await message.create_messages(context, items)

        return await body.once(chunk, "notifications bulk", make, list[str])

    async for done in body.taken(take):
        created += len(done)
        if query.ids:
            ids += done
    answer = NotificationsAnswer(
        lines=body.count, created=created, notification_ids=ids if query.ids else None
    )
    return body.answer(answer, "message", created, "scheduled")


@operation(
    routes.LIST_NOTIFICATIONS, lists=True, answer=list[NotificationView], answer_example=[NOTIFICATION]
)
async def list_notifications(call: Call) -> Answer:
    """The latest first, messages of campaigns included; with `campaign_id`, by the ids of their recipients.
    With `status` or `template_id`, a page may have fewer messages than asked for although there is a next
    one: the server stops after reading enough rows. The first page says how many there are in all, unless
    there are too many to count."""
    query = call.query(NotificationsQuery)
    chosen = read.chosen_by(query.user_id, query.status, query.template_id, query.campaign_id)
    page = await read.list_messages(call.reading, **call.filters(NotificationsQuery))
    if query.cursor is not None:
        return call.paged(page)
    total = await read.count_messages(call.reading, chosen)
    return call.paged(page, {} if total.estimated and chosen.searching else total.headers())


@operation(
    routes.GET_NOTIFICATION_SETTINGS, answer=NotificationSettings,
    answer_example={"timezone": "Europe/Berlin", "quiet_passes": ["asap"]},
)  # fmt: skip
async def get_notification_settings(call: Call) -> Answer:
    """For recipients without settings of their own."""
    return Answer(await settings.get_settings(call.context))


@operation(
    routes.SET_NOTIFICATION_SETTINGS, answer=NotificationSettings,
    example={"timezone": "Europe/Berlin", "quiet_hours": {"start": "22:00", "end": "07:00"}},
    answer_example={
        "timezone": "Europe/Berlin", "quiet_hours": {"start": "22:00", "end": "07:00"},
        "quiet_passes": ["asap"],
    },
)  # fmt: skip
async def set_notification_settings(call: Call) -> Answer:
    """They apply to messages that are decided from now on."""
    return Answer(await settings.set_settings(call.context, call.json(NotificationSettings)))


@operation(routes.GET_NOTIFICATION, answer=NotificationView, answer_example=NOTIFICATION)
async def get_notification(call: Call) -> Answer:
    """With its status, and when it was sent."""
    return Answer(await read.get_message(call.context, call.path("notification")))


@operation(routes.WHY_NOTIFICATION, answer=NotificationWhy, answer_example=WHY)
async def why_notification(call: Call) -> Answer:
    """Every hold, suppression, fall-back, expiry and retry has a line with its reason."""
    return Answer(await why(call.context, call.path("notification")))


@operation(
    routes.CANCEL_NOTIFICATION, answer=NotificationView,
    answer_example={**NOTIFICATION, "status": "cancelled", "next_at": None},
)  # fmt: skip
async def cancel_notification(call: Call) -> Answer:
    """After this answer, it does not go out. Refused if it was submitted already."""
    return Answer(await message.cancel_message(call.context, call.path("notification")))


@operation(
    routes.RESCHEDULE_NOTIFICATION, answer=NotificationView, example={"local_time": "2027-03-15 09:00"},
    answer_example=NOTIFICATION,
)  # fmt: skip
async def reschedule_notification(call: Call) -> Answer:
    """The time until it expires stays as long as before. Refused if it was submitted already."""
    wish = call.json(NotificationMove)
    return Answer(await message.move_message(call.context, call.path("notification"), wish))


@operation(routes.RESEND_NOTIFICATION, answer=NotificationView, answer_example=NOTIFICATION)
async def resend_notification(call: Call) -> Answer:
    """An operator's decision: a message that is `unconfirmed` may have gone out, and goes out again. A failed
    message is retried."""
    return Answer(await unconfirmed.resend_message(call.context, call.path("notification")))


@operation(
    routes.CONFIRM_NOTIFICATION, answer=NotificationView,
    answer_example={**NOTIFICATION, "status": "sent", "sent_at": "2027-03-14T08:00:01Z", "next_at": None},
)  # fmt: skip
async def confirm_notification(call: Call) -> Answer:
    """An operator's decision: a message that is `unconfirmed` has gone out, and counts as sent."""
    return Answer(await unconfirmed.confirm_message(call.context, call.path("notification")))
