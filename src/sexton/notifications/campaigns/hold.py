"""What holds all messages of a campaign, as lines of `why`: a pause, the late guard, the canary, the daily
quota, the rate.

What holds a single message (quiet hours, a cap, the window, an open circuit) is among its own events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from sexton.model import encode_id
from sexton.notifications.campaigns.spec import CampaignStatus
from sexton.notifications.model import CAMPAIGN, OPEN
from sexton.postgres.transaction import Context

MOST_EVENTS = 1000
# A message that is sent this soon did not wait for the rate.
SOON = timedelta(seconds=2)

#: When, which kind of line, in words, for programs.
Told = tuple[datetime, str, str, dict[str, Any]]


class CampaignHold:
    """The campaign of a message, with its events."""

    def __init__(
        self, message: asyncpg.Record, campaign: asyncpg.Record, events: Sequence[asyncpg.Record]
    ) -> None:
        self._message = message
        self._campaign = campaign
        self._events = events
        self._ref = encode_id(CAMPAIGN, campaign["id"])

    @classmethod
    async def read(cls, context: Context, message: asyncpg.Record) -> CampaignHold | None:
        """Read the campaign of a message; None if it has none."""
        if message["campaign_id"] is None:
            return None
        number = message["campaign_id"]
        campaign = await context.fetchrow("campaigns/explain", message_id=message["id"], campaign_id=number)
        if campaign is None:
            return None
        events = await context.fetch("campaigns/list_events", limit=MOST_EVENTS, campaign_id=number)
        return cls(message, campaign, events)

    def lines(self) -> list[Told]:
        """All lines, not sorted."""
        told = [*self._past()]
        if self._message["status"] in OPEN:
            told += self._present()
        elif (turn := self._turn(told)) is not None:
            told.append(turn)
        return told

    def _past(self) -> Iterator[Told]:
        """The times in which the whole campaign was held, as far as they affect the message."""
        message = self._message
        begins = message["scheduled_at"]
        ends = message["submitted_at"] or message["settled_at"] or self._campaign["now"]
        for place, event in enumerate(self._events):
            if event["kind"] not in ("paused", "waiting", "quota"):
                continue
            after = next((each for each in self._events[place + 1 :] if each["kind"] != "quota"), None)
            until = event["until"] or (None if after is None else after["at"])
            if event["at"] > ends or (until is not None and until <= begins):
                continue
            detail: dict[str, Any] = {
                "campaign_id": self._ref,
                "hold": event["kind"],
                "reason": event["reason"],
            }
            text = f"the campaign {self._ref} {_HOLDS[event['kind']]}: {event['reason']}"
            if until is not None:
                detail["until"] = until
            yield event["at"], "held", text, detail
            if event["kind"] != "quota" and after is not None and after["at"] <= ends:
                words = f"the campaign {self._ref} was {after['kind']} by {after['actor']}"
                by = {"campaign_id": self._ref, "by": after["actor"]}
                yield after["at"], "released" if after["kind"] == "resumed" else after["kind"], words, by

    def _present(self) -> Iterator[Told]:
        """What the message waits for now, if no event says it."""
        campaign, now = self._campaign, self._campaign["now"]
        detail: dict[str, Any] = {"campaign_id": self._ref}
        if campaign["status"] in (CampaignStatus.PAUSED, CampaignStatus.WAITING):
            return
        if self._message["scheduled_at"] > now or (self._message["due_at"] or now) > now:
            return
        if campaign["canary"] and campaign["canary_state"] != "passed" and not campaign["in_canary"]:
            share = f"{campaign['canary']:.2%}".rstrip("0%").rstrip(".")
            text = f"waits until the first {share} % of the campaign {self._ref} are out and it is resumed"
            yield now, "held", text, {**detail, "hold": "canary"}
        elif campaign["wait_reason"] is not None:
            yield now, "held", f"waits: {campaign['wait_reason']}", {**detail, "hold": "quota"}
        elif campaign["rate"] is not None:
            text = f"waits for its turn: {self._rate()}"
            yield now, "held", text, {**detail, "hold": "rate", "rate": campaign["rate"]}

    def _turn(self, told: Sequence[Told]) -> Told | None:
        """The wait for the rate of the campaign, if nothing else held the message."""
        message, submitted = self._message, self._message["submitted_at"]
        if self._campaign["rate"] is None or submitted is None:
            return None
        if told or message["hold_reason"] or submitted - message["scheduled_at"] <= SOON:
            return None
        detail = {"campaign_id": self._ref, "hold": "rate", "rate": self._campaign["rate"]}
        return message["scheduled_at"], "held", f"waited for its turn: {self._rate()}", detail

    def _rate(self) -> str:
        return f"the campaign {self._ref} sends at most {self._campaign['rate']:,g} messages a second"


_HOLDS = {"paused": "was paused", "waiting": "waited", "quota": "waited"}
