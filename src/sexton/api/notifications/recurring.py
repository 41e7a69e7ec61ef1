"""Recurring notifications, digests and sequences over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton.api.notifications import recurring_routes as routes
from sexton.api.notifications.recurring_routes import RecurringQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.route import PREFIX, PageQuery
from sexton.notifications.recurring import digest, recurring, sequence
from sexton.notifications.recurring.digest import DigestEventView, DigestView
from sexton.notifications.recurring.recurring import RecurringView
from sexton.notifications.recurring.sequence import MemberView, SequenceView
from sexton.notifications.recurring.spec import (
    DigestEventSpec,
    DigestSpec,
    MemberSpec,
    RecipientEventSpec,
    RecurringChanges,
    RecurringSpec,
    SequenceSpec,
)
from sexton.refusal import about

RECURRING_REQUEST: dict[str, Any] = {
    "recurrence_rule": "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
    "template_id": "week",
    "channel": "email",
    "user_id": "ann",
}
RECURRING: dict[str, Any] = {
    "schedule_id": "ns_1",
    "name": None,
    "user_id": "ann",
    "recurrence_rule": "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
    "recurrence_end": None,
    "timezone": "Europe/Berlin",
    "follows_recipient": True,
    "local_time": "2027-03-01 12:00:00",
    "next_fire_at": "2027-03-08T08:00:00Z",
    "is_active": True,
    "template_id": "week",
    "channel": "email",
    "template_vars": {},
    "job_id": "j_1",
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
}
DIGEST: dict[str, Any] = {
    "name": "comments",
    "template_id": "comments",
    "channels": ["email"],
    "schedule": "0 9 * * mon",
    "max_events": 100,
    "topic": None,
    "urgency": None,
    "expires_seconds": None,
    "is_active": True,
    "changed_by": "ann",
    "changed_at": "2027-03-01T12:00:00Z",
}
EVENT: dict[str, Any] = {
    "event_id": "c-17",
    "user_id": "ann",
    "key": "",
    "notification_id": "n_1",
    "send_at_utc": "2027-03-08T08:00:00Z",
    "at": "2027-03-01T12:00:00Z",
}
STEPS: list[dict[str, Any]] = [
    {"template_id": "welcome", "channel": "email", "day": 0},
    {"template_id": "tips", "channel": "email", "day": 3, "at": "09:00"},
]
SEQUENCE: dict[str, Any] = {
    "name": "onboarding",
    "steps": STEPS,
    "stop_on": ["purchased"],
    "topic": None,
    "revision": 1,
    "changed_by": "ann",
    "changed_at": "2027-03-01T12:00:00Z",
}
MEMBER: dict[str, Any] = {
    "user_id": "ann",
    "entered_at": "2027-03-01T12:00:00Z",
    "revision": 1,
    "steps": [
        {"notification_id": "n_1", "status": "sent", "send_at_utc": "2027-03-01T12:00:00Z"},
        {"notification_id": "n_2", "status": "pending", "send_at_utc": "2027-03-04T08:00:00Z"},
    ],
    "stopped_at": None,
    "stopped_by": None,
}


class StoppedSequences(msgspec.Struct, frozen=True):
    """The sequences that an event has stopped."""

    stopped: Annotated[list[str], about("The sequences that have ended for the recipient, by name.")]


# Recurring notifications.


@operation(
    routes.CREATE_NOTIFICATION_SCHEDULE, status=201, answer=RecurringView, example=RECURRING_REQUEST,
    answer_example=RECURRING,
)  # fmt: skip
async def create_notification_schedule(call: Call) -> Answer:
    """Each time is a message of its own. Without `timezone` it uses the recipient's zone, and follows its
    changes. A local time that a clock change skips is sent at the first instant after it; one that happens
    twice, at the first of the two."""
    made = await recurring.create_recurring(call.context, call.json(RecurringSpec))
    return Answer(made, headers={"Location": f"{PREFIX}/notifications/schedules/{made.schedule_id}"})


@operation(
    routes.LIST_NOTIFICATION_SCHEDULES, lists=True, answer=list[RecurringView], answer_example=[RECURRING]
)
async def list_notification_schedules(call: Call) -> Answer:
    """In the order of creation."""
    return call.paged(await recurring.list_recurring(call.reading, **call.filters(RecurringQuery)))


@operation(routes.GET_NOTIFICATION_SCHEDULE, answer=RecurringView, answer_example=RECURRING)
async def get_notification_schedule(call: Call) -> Answer:
    """With its next time."""
    return Answer(await recurring.get_recurring(call.context, call.path("notification_schedule")))


@operation(
    routes.CHANGE_NOTIFICATION_SCHEDULE, answer=RecurringView, errors=(409,),
    example={"recurrence_rule": "0 10 * * mon"}, answer_example=RECURRING,
)  # fmt: skip
async def change_notification_schedule(call: Call) -> Answer:
    """Fields that are left out keep their values. Existing messages go out as they are."""
    ref, changes = call.path("notification_schedule"), call.json(RecurringChanges)
    return Answer(await recurring.change_recurring(call.context, ref, changes))


@operation(
    routes.PAUSE_NOTIFICATION_SCHEDULE, answer=RecurringView,
    answer_example={**RECURRING, "is_active": False, "next_fire_at": None},
)  # fmt: skip
async def pause_notification_schedule(call: Call) -> Answer:
    """Nothing is sent until it is resumed; the times in between are skipped."""
    ref = call.path("notification_schedule")
    return Answer(await recurring.change_recurring(call.context, ref, RecurringChanges(is_active=False)))


@operation(routes.RESUME_NOTIFICATION_SCHEDULE, answer=RecurringView, answer_example=RECURRING)
async def resume_notification_schedule(call: Call) -> Answer:
    """It continues with its next time."""
    ref = call.path("notification_schedule")
    return Answer(await recurring.change_recurring(call.context, ref, RecurringChanges(is_active=True)))


@operation(routes.DELETE_NOTIFICATION_SCHEDULE, status=204)
async def delete_notification_schedule(call: Call) -> Answer:
    """Existing messages stay as they are."""
    await recurring.delete_recurring(call.context, call.path("notification_schedule"))
    return Answer(None)


# Digests.


@operation(
    routes.PUT_DIGEST, answer=DigestView,
    example={"template_id": "comments", "channel": "email", "schedule": "0 9 * * mon"}, answer_example=DIGEST,
)  # fmt: skip
async def put_digest(call: Call) -> Answer:
    """Its template gets `events` (the list of what was gathered), `count` and `key`."""
    return Answer(await digest.put_digest(call.context, call.path("digest"), call.json(DigestSpec)))


@operation(routes.LIST_DIGESTS, lists=True, answer=list[DigestView], answer_example=[DIGEST])
async def list_digests(call: Call) -> Answer:
    """By name."""
    return call.paged(await digest.list_digests(call.reading, **call.filters(PageQuery)))


@operation(routes.GET_DIGEST, answer=DigestView, answer_example=DIGEST)
async def get_digest(call: Call) -> Answer:
    """Its definition."""
    return Answer(await digest.get_digest(call.context, call.path("digest")))


@operation(routes.DELETE_DIGEST, status=204)
async def delete_digest(call: Call) -> Answer:
    """Events that were gathered are sent at their time."""
    await digest.delete_digest(call.context, call.path("digest"))
    return Answer(None)


@operation(
    routes.ADD_DIGEST_EVENT, status=201, answer=DigestEventView,
    example={"user_id": "ann", "data": {"text": "a comment"}, "event_id": "c-17"}, answer_example=EVENT,
)  # fmt: skip
async def add_digest_event(call: Call) -> Answer:
    """It is in exactly one message. The same `event_id` counts once."""
    spec = call.json(DigestEventSpec)
    return Answer(await digest.add_event(call.context, call.path("digest"), spec))


# Sequences.


@operation(
    routes.PUT_SEQUENCE, answer=SequenceView, example={"steps": STEPS, "stop_on": ["purchased"]},
    answer_example=SEQUENCE,
)  # fmt: skip
async def put_sequence(call: Call) -> Answer:
    """Recipients who have entered it keep their messages."""
    return Answer(await sequence.put_sequence(call.context, call.path("sequence"), call.json(SequenceSpec)))


@operation(routes.LIST_SEQUENCES, lists=True, answer=list[SequenceView], answer_example=[SEQUENCE])
async def list_sequences(call: Call) -> Answer:
    """By name."""
    return call.paged(await sequence.list_sequences(call.reading, **call.filters(PageQuery)))


@operation(routes.GET_SEQUENCE, answer=SequenceView, answer_example=SEQUENCE)
async def get_sequence(call: Call) -> Answer:
    """Its definition."""
    return Answer(await sequence.get_sequence(call.context, call.path("sequence")))


@operation(routes.DELETE_SEQUENCE, status=204)
async def delete_sequence(call: Call) -> Answer:
    """Recipients who have entered it keep their messages."""
    await sequence.delete_sequence(call.context, call.path("sequence"))
    return Answer(None)


@operation(
    routes.ENTER_SEQUENCE, status=201, answer=MemberView, example={"user_id": "ann"}, answer_example=MEMBER
)
async def enter_sequence(call: Call) -> Answer:
    """All steps become messages at once, each with its time. Refused if the recipient is in it already."""
    return Answer(await sequence.enter(call.context, call.path("sequence"), call.json(MemberSpec)))


@operation(routes.GET_SEQUENCE_MEMBER, answer=MemberView, answer_example=MEMBER)
async def get_sequence_member(call: Call) -> Answer:
    """The latest entry of the recipient, with the messages."""
    return Answer(await sequence.get_member(call.context, call.path("sequence"), call.path("user_id")))


@operation(
    routes.LEAVE_SEQUENCE, answer=MemberView,
    answer_example={**MEMBER, "stopped_at": "2027-03-02T12:00:00Z", "stopped_by": "stopped by ann"},
)  # fmt: skip
async def leave_sequence(call: Call) -> Answer:
    """Messages that were not submitted are cancelled. Repeating it changes nothing."""
    return Answer(await sequence.leave(call.context, call.path("sequence"), call.path("user_id")))


@operation(
    routes.NOTE_RECIPIENT_EVENT, answer=StoppedSequences, example={"user_id": "ann", "event": "purchased"},
    answer_example={"stopped": ["onboarding"]},
)  # fmt: skip
async def note_recipient_event(call: Call) -> Answer:
    """Sequences that stop on this event end for this recipient."""
    spec = call.json(RecipientEventSpec)
    return Answer(StoppedSequences(await sequence.note_event(call.context, spec.user_id, spec.event)))
