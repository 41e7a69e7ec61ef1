"""Cancelling many messages, and taking that back: which ones are meant, and how many are cancelled by one
command. A message that was submitted meanwhile does not keep the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from sexton.errors import InvalidField, SextonError
from sexton.jobs.items import ItemChoice, WorkOnMany, one_by_one
from sexton.jobs.tally import MOST_NAMED, SampledItem, check_selective
from sexton.notifications.filter import MessageFilter
from sexton.notifications.message import lock_sending, over, restore_message
from sexton.notifications.model import OPEN, MessageStatus
from sexton.notifications.read import (
    NotificationView,
    count_messages,
    get_message,
    list_chosen,
    message_number,
)
from sexton.postgres.estimate import Total
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context
from sexton.refusal import not_found

MessageAction = Literal["cancel", "restore"]
# What each action is done to.
MEANT: dict[MessageAction, tuple[MessageStatus, ...]] = {
    "cancel": tuple(OPEN),
    "restore": (MessageStatus.CANCELLED,),
}


def check_choice(chosen: MessageFilter, *, all_: bool, action: MessageAction = "cancel") -> MessageFilter:
    """The messages that the action is for. Refuses a filter that leaves nothing out, unless it is said that
    all messages are meant."""
    hint = "give ids, a recipient, a template, a campaign or a status, or say all"
    check_selective(chosen != MessageFilter(), every=all_, many="messages", hint=hint)
    meant = MEANT[action]
    wanted = [each.value for each in meant if chosen.statuses is None or each in chosen.statuses]
    if not wanted:
        raise InvalidField(
            "bad_value",
            "a message that was submitted cannot be cancelled"
            if action == "cancel"
            else "a message that was not cancelled is not restored",
            field="filter.status",
            hint=f"use {' or '.join(meant)}",
        )
    return replace(chosen, statuses=wanted)


def message_choice(chosen: MessageFilter, ids: Sequence[str] | None = None) -> ItemChoice[NotificationView]:
    """The messages of this filter, or those of them that are named."""

    async def page(context: Context, cursor: str | None, limit: int) -> Page[NotificationView]:
        return await list_chosen(context, chosen, cursor=cursor, limit=limit)

    async def count(context: Context) -> Total:
        return await count_messages(context, chosen)

    return ItemChoice(
        "message", "messages", page, get_message, _sampled,
        lambda row: row.status in (chosen.statuses or ()), ids, count=count,
    )  # fmt: skip


async def cancel_messages(context: Context, named: Sequence[str]) -> dict[str, SextonError | None]:
    """Why each was refused; None: it does not go out."""
    numbers = {message_number(each): each for each in named}
    every = {"namespace": context.namespace, "message_ids": sorted(numbers)}
    await lock_sending(context, sorted(numbers))
    rows = await context.fetch("messages/lock_many", **every)
    marked = {row["id"] for row in await context.fetch("messages/find_marked", **every)}
    found = {
        row["id"]: MessageStatus.PROCESSING.value if row["id"] in marked else row["status"] for row in rows
    }
    ready = [number for number, status in found.items() if status in OPEN]
    if ready:
        await context.execute(
            "messages/cancel",
            namespace=context.namespace,
            message_ids=ready,
            now=await context.time(),
            detail=msgspec.json.encode({"by": context.actor, "reason": context.reason}).decode(),
        )
        context.changed(
            "notification.cancelled",
            numbers[ready[0]] if len(ready) == 1 else None,
            after={"status": "cancelled"},
            detail={"count": len(ready), "notification_ids": [numbers[each] for each in ready[:MOST_NAMED]]},
        )
    verdicts: dict[str, SextonError | None] = {}
    for number, ref in numbers.items():
        if number not in found:
            verdicts[ref] = not_found("notification", ref)
        else:
            verdicts[ref] = None if found[number] in OPEN else over(ref, found[number])
    return verdicts


WORKS: dict[MessageAction, WorkOnMany] = {
    "cancel": cancel_messages,
    "restore": one_by_one(restore_message),
}


def _sampled(row: NotificationView) -> SampledItem:
    return SampledItem(
        id=row.notification_id,
        name=f"{row.template_id} → {row.user_id or row.channel}",
        status=row.status.value,
    )
