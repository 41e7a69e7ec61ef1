"""The filter of messages, and the order of their lists.

Messages have no index by status or template, because each message would have to be written to it. A list
reads the next messages of a namespace, a recipient or a campaign up to a bound, and ends there with a page
that may not be full and a cursor. So no page reads millions of rows to find a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.notifications.model import CAMPAIGN, MESSAGE
from sexton.postgres.page import LAST_CHARACTER, decode_cursor, encode_cursor, number_in_cursor
from sexton.postgres.row import number_of

MessageSort = Literal["-created_at", "created_at", "user_id", "-user_id"]
LATEST, OLDEST, RISING, FALLING = get_args(MessageSort)
LAST_NUMBER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """A field that is None selects everything."""

    user_id: str | None = None
    statuses: Sequence[str] | None = None
    template_id: str | None = None
    campaign: int | None = None

    @property
    def searching(self) -> bool:
        """Whether the filter has no index."""
        return (
            self.statuses is not None
            or self.template_id is not None
            or (self.user_id is not None and self.campaign is not None)
        )

    @property
    def by_recipient(self) -> bool:
        """Whether messages are ordered by their recipients: those of a campaign have such an index."""
        return self.campaign is not None and self.user_id is None

    def parameters(self) -> dict[str, Any]:
        return {
            "statuses": self.statuses,
            "template_id": self.template_id,
            "campaign_id": self.campaign,
            **({} if self.by_recipient else {"user_id": self.user_id}),
        }


def campaign_number(ref: str) -> int:
    return number_of(CAMPAIGN, ref, "campaign")


@dataclass(frozen=True, slots=True)
class MessageOrder:
    """An order of messages: the statement that reads them, and its start."""

    statement: str
    by_recipient: bool
    start: int | str

    @classmethod
    def of(cls, chosen: MessageFilter, sort: MessageSort | None) -> MessageOrder:
        """The wanted order. Refuses an order without an index."""
        by_recipient = chosen.by_recipient
        known = (RISING, FALLING) if by_recipient else (LATEST, OLDEST)
        wanted = sort or known[0]
        if wanted not in known:
            whose = "messages of a campaign" if by_recipient else "messages that are not of one campaign"
            raise InvalidField(
                "bad_value",
                f"{whose} are not sorted by {wanted.removeprefix('-')}",
                field="sort",
                hint=f"use {known[0]} or {known[1]}",
            )
        if by_recipient:
            if wanted == RISING:
                return cls("messages/list_of_campaign", True, "")
            return cls("messages/list_of_campaign_last", True, LAST_CHARACTER)
        if wanted == LATEST:
            return cls("messages/list", False, LAST_NUMBER)
        return cls("messages/list_oldest", False, 0)

    def place(self, cursor: str | None) -> int | str:
        """The start of a page."""
        if cursor is None:
            return self.start
        if self.by_recipient:
            place: str = decode_cursor(cursor, tuple[str])[0]
            return place
        return number_in_cursor(cursor, MESSAGE)

    def cursor(self, row: Any) -> str:
        """The cursor after a message."""
        return encode_cursor(row["user_id"]) if self.by_recipient else encode_id(MESSAGE, row["id"])
