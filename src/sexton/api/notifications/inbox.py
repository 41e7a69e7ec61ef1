"""Inboxes over HTTP. The token in the path opens one inbox, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec

from sexton import clock
from sexton.api.body import ServerSentEvent
from sexton.api.notifications import channel_routes as routes
from sexton.api.operation import EVENTS, Answer, Call, operation
from sexton.model import decode_id, encode_id
from sexton.notifications.recipients.inbox import (
    ITEM,
    InboxItem,
    InboxToken,
    InboxTokenSpec,
    MarkSpec,
    Unread,
    count_unread,
    create_inbox_token,
    list_inbox,
    mark_inbox,
    read_inbox_token,
)
from sexton.postgres.transaction import Context
from sexton.refusal import not_found

HEARTBEAT_SECONDS = 15.0
ITEM_EXAMPLE: dict[str, Any] = {
    "item_id": "i_1",
    "notification_id": "n_1",
    "parts": {"title": "Your parcel is here", "body": "Fetch it until Friday."},
    "topic": "orders",
    "created_at": "2027-03-01T12:00:00Z",
    "read_at": None,
    "archived_at": None,
}
STREAM_EXAMPLE = {"event": "unread", "id": "i_1", "data": '{"unread":1}'}


@operation(
    routes.CREATE_INBOX_TOKEN, status=201, answer=InboxToken, kept=False, example={"seconds": 3600},
    answer_example={
        "token": "W1sia…", "path": "/api/v1/inbox/W1sia…", "expires_at": "2027-03-01T13:00:00Z",
    },
)  # fmt: skip
async def create_recipient_token(call: Call) -> Answer:
    """For the recipient's own application: it opens this one inbox until the token expires."""
    spec = call.json(InboxTokenSpec, optional=True)
    made = await create_inbox_token(
        call.context, call.path("user_id"), spec, call.services.settings.secret_key
    )
    return Answer(made, headers={"Location": made.path})


async def _authorise(call: Call) -> None:
    found = read_inbox_token(call.context, call.path("token"), await call.services.guard.sessions.pepper())
    if found is None:
        raise call.wrong_token(not_found("inbox", "that this token opens"), "ask for a new token")
    call.request.state.inbox = found


def _opened(call: Call) -> tuple[Context, str]:
    namespace, user_id, _ = call.request.state.inbox
    return replace(call.context, namespace=namespace, actor=f"recipient {user_id}"), user_id


@operation(
    routes.LIST_INBOX, lists=True, answer=list[InboxItem], authorise=_authorise, answer_example=[ITEM_EXAMPLE]
)
async def list_recipient_inbox(call: Call) -> Answer:
    """The latest first; archived items only on request."""
    query = call.query(routes.InboxQuery)
    context, user_id = _opened(call)
    page = await list_inbox(
        context,
        user_id,
        unread=query.unread,
        archived=query.archived,
        cursor=query.cursor,
        limit=query.limit,
    )
    return call.paged(page)


@operation(routes.COUNT_INBOX, answer=Unread, authorise=_authorise, answer_example={"unread": 3})
async def count_recipient_inbox(call: Call) -> Answer:
    """For the number beside the bell."""
    return Answer(await count_unread(*_opened(call)))


@operation(
    routes.MARK_INBOX, answer=list[InboxItem], authorise=_authorise, kept=False,
    example={"item_ids": ["i_1"], "read": True},
    answer_example=[{**ITEM_EXAMPLE, "read_at": "2027-03-01T12:05:00Z"}],
)  # fmt: skip
async def mark_recipient_inbox(call: Call) -> Answer:
    """Mark items as read or archived, or undo it: the named items, or all. Reading an item adds a line to
    `why`."""
    return Answer(await mark_inbox(*_opened(call), call.json(MarkSpec)))


@operation(
    routes.STREAM_INBOX, answer=ServerSentEvent, authorise=_authorise, media_type=EVENTS,
    answer_example=STREAM_EXAMPLE,
)  # fmt: skip
async def stream_recipient_inbox(call: Call) -> Answer:
    """Server-sent events: `message` with each new item, `unread` with the number of unread items whenever it
    changes. A browser that reconnects continues after its last event (`Last-Event-ID`). The stream ends when
    the token expires."""
    namespace, user_id, until = call.request.state.inbox
    after = decode_id(ITEM, call.request.headers.get("last-event-id", ""))
    feed = call.services.inboxes
    feed.check_room(namespace, user_id)

    async def parts() -> AsyncIterator[bytes]:
        async with feed.watch(namespace, user_id, after) as events:
            yield b": watching\n\n"
            while (left := (until - clock.now()).total_seconds()) > 0:
                try:
                    async with asyncio.timeout(min(left, HEARTBEAT_SECONDS)):
                        event = await events.get()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if event is None:  # the server stops
                    return
                name = "unread" if event.item is None else "message"
                data = {"unread": event.unread} if event.item is None else event.item
                number = encode_id(ITEM, event.number)
                yield f"event: {name}\nid: {number}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"

    return Answer(parts(), headers={"X-Accel-Buffering": "no"})
