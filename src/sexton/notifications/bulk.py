"""Calling many messages off, and taking that back: those that a filter means, or some that are named, a chunk
at a time.

A chunk is one transaction, and between chunks nothing is held. What was done stays done, whatever becomes of
the next chunk: the same command goes on from there. A message that was submitted meanwhile does not keep the
others: the answer says why, by code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from sexton.errors import InvalidField, SextonError
from sexton.jobs.items import verdict
from sexton.jobs.tally import MOST_NAMED, check_expected, check_selective
from sexton.notifications.filter import MessageFilter
from sexton.notifications.message import lock_sending, over, restore_message
from sexton.notifications.model import OPEN, MessageStatus
from sexton.notifications.read import count_messages, list_chosen, message_number, rows_of, view_of
from sexton.notifications.tally import NotificationRefusal, NotificationTally, SampledNotification
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import not_found

LARGEST_CHUNK = 200


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
            "a message that was submitted cannot be called off"
            if action == "cancel"
            else "a message that was not called off is not restored",
            field="filter.status",
            hint=f"use {' or '.join(meant)}",
        )
    return replace(chosen, statuses=wanted)


@query
async def count_chosen(
    context: Context, chosen: MessageFilter, ids: Sequence[str] | None = None
) -> NotificationTally:
    """What acting on these messages would mean: how many they are, and some of them."""
    if ids is not None:
        rows = await rows_of(context, [message_number(each) for each in ids])
        shown = [view_of(row) for row in rows if row["status"] in (chosen.statuses or ())]
        matched, estimated = len(shown), False
    else:
        total = await count_messages(context, chosen)
        matched, estimated = total.count, total.estimated
        shown = (await list_chosen(context, chosen, limit=MOST_NAMED)).items
    sample = [
        SampledNotification(
            notification_id=each.notification_id,
            user_id=each.user_id,
            template_id=each.template_id,
            status=each.status.value,
        )
        for each in shown[:MOST_NAMED]
    ]
    return NotificationTally(dry_run=True, matched=matched, estimated=estimated, sample=sample)


@command
async def act_on_messages(
    context: Context,
    action: MessageAction,
    chosen: MessageFilter,
    ids: Sequence[str] | None = None,
    *,
    after: str | None = None,
    expected: int | None = None,
    limit: int = LARGEST_CHUNK,
) -> NotificationTally:
    """One chunk: do it to the next messages of the filter, or to those that are named. Refused if more than
    `expected` are meant."""
    if expected is not None:
        matched = (await count_chosen(context, chosen, ids)).matched
        check_expected(matched, expected, "message", "messages")
    if ids is None:
        page = await list_chosen(context, chosen, cursor=after, limit=limit)
        named, cursor = [each.notification_id for each in page.items], page.cursor
    else:
        named, cursor = list(dict.fromkeys(ids)), None
    if not named:
        # Also an empty page says where the next one goes on.
        return NotificationTally(cursor=cursor)
    if action == "cancel":
        verdicts = await _cancel(context, named)
    else:
        verdicts = {ref: await verdict(context, restore_message, ref) for ref in named}
    done = [ref for ref, why in verdicts.items() if why is None]
    return NotificationTally(
        matched=len(named),
        done=len(done),
        notification_ids=done,
        refused=NotificationRefusal.by_code(verdicts.items()),
        cursor=cursor,
    )


async def _cancel(context: Context, named: Sequence[str]) -> dict[str, SextonError | None]:
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
