"""`app.notify(…)`: messages at the right local time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sexton.app.part import AppPart
from sexton.notifications import message, read
from sexton.notifications.campaigns import unconfirmed
from sexton.notifications.message import read_spec
from sexton.notifications.read import NotificationView
from sexton.notifications.recipients import recipient
from sexton.notifications.recipients.recipient import ErasureView, RecipientView
from sexton.notifications.recurring import digest, recurring, sequence
from sexton.notifications.recurring.digest import DigestEventView, DigestView
from sexton.notifications.recurring.recurring import RecurringView
from sexton.notifications.recurring.sequence import MemberView, SequenceView
from sexton.notifications.recurring.spec import (
    DigestEventSpec,
    DigestSpec,
    MemberSpec,
    RecurringChanges,
    RecurringSpec,
    SequenceSpec,
)
from sexton.notifications.spec import NotificationMove, RecipientSpec, TemplateSpec
from sexton.notifications.templates import template
from sexton.notifications.templates.template import TemplateView
from sexton.notifications.why import NotificationWhy
from sexton.notifications.why import why as why_of
from sexton.refusal import converted

Messages = list[NotificationView]
Schedules = list[RecurringView]
Ids = list[str]


class NotifyCommands(AppPart):
    """Messages to recipients; `app.notify(…)` schedules one."""

    async def __call__(
        self,
        template: str,
        /,
        to: str | None = None,
        *,
        channel: str | list[Any] = "email",
        address: Any = None,
        at: datetime | None = None,
        local_time: str | None = None,
        variables: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> NotificationView:
        """Schedule a message: to a recipient or an address, now, at an instant, or at a local time of the
        recipient; `fields` are the others of `POST /notifications`: `urgency`, `topic`, `max_retries`, ….

            made = await app.notify(
                "reminder", "ann", local_time="2099-03-14 09:00", variables={"name": "Ann"}
            )
            print(made.notification_id, made.send_at_utc)
        """
        given = {
            "template_id": template,
            "user_id": to,
            "channel": channel,
            "address": address,
            "send_at": at,
            "local_time": local_time,
            "template_vars": dict(variables or {}),
            **fields,
        }
        return await self._app._call(message.create_message, read_spec(given))

    async def many(self, items: Iterable[Mapping[str, Any]]) -> Ids:
        """Schedule many messages, each with the fields of `POST /notifications`; their ids. Chunks of 1,000
        are scheduled, each all or nothing."""
        return await self._chunks(message.create_messages, items)

    async def get(self, notification_id: str) -> NotificationView:
        """A message with its state."""
        return await self._app._call(read.get_message, notification_id)

    async def list(self, *, to: str | None = None, status: str | None = None, limit: int = 100) -> Messages:
        """Messages, the latest first."""
        page = await self._app._call(read.list_messages, user_id=to, status=status, limit=limit)
        return page.items

    async def why(self, notification_id: str) -> NotificationWhy:
        """Why a message was sent when it was sent, or was not."""
        return await self._app._call(why_of, notification_id)

    async def cancel(self, notification_id: str) -> NotificationView:
        """Cancel a message that was not submitted."""
        return await self._app._call(message.cancel_message, notification_id)

    async def reschedule(
        self, notification_id: str, *, at: datetime | None = None, local_time: str | None = None
    ) -> NotificationView:
        """Send a message at another time."""
        move = NotificationMove(send_at=at, local_time=local_time)
        return await self._app._call(message.move_message, notification_id, move)

    async def resend(self, notification_id: str) -> NotificationView:
        """An operator's decision: send a message again that is unconfirmed or has failed."""
        return await self._app._call(unconfirmed.resend_message, notification_id)

    async def confirm(self, notification_id: str) -> NotificationView:
        """An operator's decision: count an unconfirmed message as sent."""
        return await self._app._call(unconfirmed.confirm_message, notification_id)

    async def schedule(
        self, rule: str, template: str, /, to: str | None = None, *, channel: str = "email", **fields: Any
    ) -> RecurringView:
        """Notify repeatedly, by a rule on the recipient's wall clock; `fields` are the others of `POST
        /notifications/schedules`."""
        given = {"recurrence_rule": rule, "template_id": template, "user_id": to, "channel": channel}
        spec = converted({**given, **fields}, RecurringSpec)
        return await self._app._call(recurring.create_recurring, spec)

    async def schedules(self, *, to: str | None = None, limit: int = 100) -> Schedules:
        """Recurring notifications, with their next times."""
        page = await self._app._call(recurring.list_recurring, user_id=to, cursor=None, limit=limit)
        return page.items

    async def change_schedule(self, schedule_id: str, /, **fields: Any) -> RecurringView:
        """Change a recurring notification: the fields of `PATCH /notifications/schedules/{schedule}`, such as
        `is_active=False`."""
        changes = converted(fields, RecurringChanges)
        return await self._app._call(recurring.change_recurring, schedule_id, changes)

    async def delete_schedule(self, schedule_id: str) -> None:
        """Delete a recurring notification. Existing messages stay."""
        await self._app._call(recurring.delete_recurring, schedule_id)

    async def digest(self, name: str, /, **fields: Any) -> DigestView:
        """Create or change a digest: the fields of `PUT /digests/{digest}`."""
        return await self._app._call(digest.put_digest, name, converted(fields, DigestSpec))

    async def add_event(
        self, digest_name: str, to: str, data: Mapping[str, Any], /, **fields: Any
    ) -> DigestEventView:
        """Add an event to the next digest of a recipient; `fields` are `key` and `event_id`."""
        spec = converted({"user_id": to, "data": dict(data), **fields}, DigestEventSpec)
        return await self._app._call(digest.add_event, digest_name, spec)

    async def sequence(self, name: str, /, **fields: Any) -> SequenceView:
        """Create or change a sequence: the fields of `PUT /sequences/{sequence}`."""
        return await self._app._call(sequence.put_sequence, name, converted(fields, SequenceSpec))

    async def enter(
        self, sequence_name: str, to: str, /, *, variables: Mapping[str, Any] | None = None
    ) -> MemberView:
        """Enter a recipient into a sequence: each step becomes a message."""
        spec = MemberSpec(user_id=to, template_vars=dict(variables or {}))
        return await self._app._call(sequence.enter, sequence_name, spec)

    async def leave(self, sequence_name: str, to: str, /) -> MemberView:
        """Stop a sequence for a recipient: messages that were not submitted are cancelled."""
        return await self._app._call(sequence.leave, sequence_name, to)

    async def event(self, to: str, event: str, /) -> Ids:
        """Report something that a recipient did; the names of the sequences that stop on it."""
        return await self._app._call(sequence.note_event, to, event)

    async def recipient(self, user_id: str, /, **fields: Any) -> RecipientView:
        """Create or replace a recipient: the fields of `PUT /recipients/{user_id}`."""
        spec = converted(fields, RecipientSpec)
        return await self._app._call(recipient.put_recipient, user_id, spec)

    async def erase(self, user_id: str) -> ErasureView:
        """Erase all data of a person."""
        return await self._app._call(recipient.erase_recipient, user_id)

    async def template(self, template_id: str, /, **fields: Any) -> TemplateView:
        """Create the next version of a template: the fields of `PUT /templates/{template_id}`."""
        spec = converted(fields, TemplateSpec)
        return await self._app._call(template.put_template, template_id, spec)
