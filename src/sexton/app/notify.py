"""`app.notify(…)`: messages at the right local time, for programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from sexton.errors import RefusedLines
from sexton.notifications import message, read, recipient, template
from sexton.notifications.message import read_spec
from sexton.notifications.read import NotificationView
from sexton.notifications.recipient import ErasureView, RecipientView
from sexton.notifications.spec import NotificationMove, RecipientSpec, TemplateSpec
from sexton.notifications.template import TemplateView
from sexton.notifications.why import NotificationWhy
from sexton.notifications.why import why as why_of
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.refusal import explained

CHUNK = 1000

Messages = list[NotificationView]
Ids = list[str]
Given = ParamSpec("Given")
Spec = TypeVar("Spec")
Made = TypeVar("Made")


class NotifyCaller(Protocol):
    """What the commands need of their application."""

    def connected(self) -> AbstractAsyncContextManager[Database]: ...

    async def _call(
        self,
        command: Callable[Concatenate[Context, Given], Awaitable[Made]],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Made: ...


class NotifyCommands:
    """Messages to recipients; `app.notify(…)` schedules one."""

    def __init__(self, app: NotifyCaller) -> None:
        self._app = app

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
        """Schedule many messages, each as `POST /notifications` takes it; their ids. Chunks of 1,000 are
        scheduled whole or not at all."""
        made: Ids = []
        rest = iter(items)
        async with self._app.connected():
            while chunk := [*islice(rest, CHUNK)]:
                try:
                    made += await self._app._call(message.create_messages, chunk)
                except RefusedLines as refused:
                    raise RefusedLines([(len(made) + line, why) for line, why in refused.errors]) from None
        return made

    async def get(self, notification_id: str) -> NotificationView:
        """A message, and where it stands."""
        return await self._app._call(read.get_message, notification_id)

    async def list(self, *, to: str | None = None, status: str | None = None, limit: int = 100) -> Messages:
        """Messages, the latest first."""
        page = await self._app._call(read.list_messages, user_id=to, status=status, limit=limit)
        return page.items

    async def why(self, notification_id: str) -> NotificationWhy:
        """Why a message went when it went, or did not."""
        return await self._app._call(why_of, notification_id)

    async def cancel(self, notification_id: str) -> NotificationView:
        """Call a message off that was not submitted."""
        return await self._app._call(message.cancel_message, notification_id)

    async def reschedule(
        self, notification_id: str, *, at: datetime | None = None, local_time: str | None = None
    ) -> NotificationView:
        """Send a message at another time."""
        move = NotificationMove(send_at=at, local_time=local_time)
        return await self._app._call(message.move_message, notification_id, move)

    async def recipient(self, user_id: str, /, **fields: Any) -> RecipientView:
        """Make a recipient, or replace her: the fields of `PUT /recipients/{user_id}`."""
        spec = _convert(RecipientSpec, fields)
        return await self._app._call(recipient.put_recipient, user_id, spec)

    async def erase(self, user_id: str) -> ErasureView:
        """Erase all traces of a person."""
        return await self._app._call(recipient.erase_recipient, user_id)

    async def template(self, template_id: str, /, **fields: Any) -> TemplateView:
        """Make the next version of a template: the fields of `PUT /templates/{template_id}`."""
        spec = _convert(TemplateSpec, fields)
        return await self._app._call(template.put_template, template_id, spec)


def _convert(struct: type[Spec], data: dict[str, Any]) -> Spec:
    try:
        return msgspec.convert(data, struct)
    except msgspec.ValidationError as error:
        raise explained(error, struct, data) from None
