"""The results of commands on many messages."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from sexton.jobs.tally import RefusedSome, together
from sexton.refusal import about


class NotificationRefusal(RefusedSome, frozen=True, kw_only=True):
    """Why some of the messages were refused."""

    counted: ClassVar[str] = "messages"

    messages: Annotated[int, about("How many were.")] = 1


class SampledNotification(msgspec.Struct, frozen=True, kw_only=True):
    """One of the messages that are meant."""

    notification_id: Annotated[str, about("Its id, `n_…`.")]
    user_id: Annotated[str | None, about("The recipient; null: an address was given.")]
    template_id: Annotated[str, about("The template.")]
    status: Annotated[str, about("Its status.")]


class NotificationTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages were meant, and what became of them. Of a dry run nothing has become yet."""

    # What tallies of jobs and runs have beside this.
    unchanged: ClassVar[int] = 0
    requested: ClassVar[int] = 0
    through: ClassVar[str | None] = None

    dry_run: Annotated[bool, about("True if nothing was done.")] = False
    matched: Annotated[
        int, about("How many messages are meant; of a call that acts, how many it has gone through.")
    ] = 0
    estimated: Annotated[
        bool, about("True if there may be more: a dry run looks through 30,000 messages.")
    ] = False
    done: Annotated[int, about("How many were cancelled, or restored.")] = 0
    refused: Annotated[list[NotificationRefusal], about("Why others were refused, by code.")] = []
    notification_ids: Annotated[list[str], about("Which ones these are.")] = []
    sample: Annotated[list[SampledNotification], about("Some of the messages, in a dry run.")] = []
    cursor: Annotated[str | None, about("`after` of the next call; null if no message is left.")] = None

    @property
    def refusals(self) -> int:
        """How many messages were refused."""
        return sum(each.count for each in self.refused)

    def plus(self, other: NotificationTally) -> NotificationTally:
        """This one and what came after it."""
        return together(self, other, "matched", "done", "notification_ids")
