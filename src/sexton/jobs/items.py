"""Acting on many things that have an id and a list: those that its filters mean, or some that are named.

A chunk is one transaction. Each thing is changed by the command that changes a single one, in a savepoint, or
all of them by one command: one that is refused does not keep the others, and the answer says why, by code.
Between chunks nothing is held. What was done stays done, whatever becomes of the next chunk: the same command
goes on from there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from sexton.errors import Conflict, InvalidField, NotFound, SextonError
from sexton.jobs.tally import (
    MOST_ITEMS,
    MOST_NAMED,
    ItemRefusal,
    ItemTally,
    SampledItem,
    check_expected,
)
from sexton.postgres.estimate import Total
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context, command, query

Row = TypeVar("Row")
#: Changes the one with this id.
Work = Callable[[Context, str], Awaitable[object]]
#: Changes those with these ids; says of each why it was refused, or None if it is done.
WorkOnMany = Callable[[Context, Sequence[str]], Awaitable[Mapping[str, SextonError | None]]]

# A count looks through so many rows, and reads a list in pages of so many.
MOST_COUNTED = 2000
PAGE = 200


@dataclass(frozen=True, slots=True)
class ItemChoice(Generic[Row]):
    """Which ones are meant: those that are named by `ids`, or else those of a list."""

    one: str
    many: str
    #: A page of the list: after a cursor, so many.
    page: Callable[[Context, str | None, int], Awaitable[Page[Row]]]
    get: Callable[[Context, str], Awaitable[Row]]
    sampled: Callable[[Row], SampledItem]
    #: Whether it can be done to this one; what a list has beside these is passed over.
    meant: Callable[[Row], bool] = lambda row: True
    ids: Sequence[str] | None = None
    #: How many the list has that are meant, if there is a better way than to go through it.
    count: Callable[[Context], Awaitable[Total]] | None = None
    #: Whether only what was counted to the end may be changed: it cannot be undone.
    exact: bool = False

    def those_meant(self, rows: Sequence[Row]) -> list[SampledItem]:
        return [self.sampled(row) for row in rows if self.meant(row)]


@query
async def count_items(context: Context, choice: ItemChoice[Row], after: str | None = None) -> ItemTally:
    """What acting on these would mean: how many they are, and some of them."""
    found: list[SampledItem] = []
    cursor = after if choice.ids is None else None
    if choice.ids is not None:
        for ref in dict.fromkeys(choice.ids):
            with suppress(NotFound):
                found += choice.those_meant([await choice.get(context, ref)])
    elif choice.count is not None and after is None:
        total = await choice.count(context)
        sample = choice.those_meant((await choice.page(context, None, MOST_NAMED)).items)
        return ItemTally(
            dry_run=True, matched=total.count, estimated=total.estimated, sample=sample[:MOST_NAMED]
        )
    else:
        for _ in range(MOST_COUNTED // PAGE):
            page = await choice.page(context, cursor, PAGE)
            found += choice.those_meant(page.items)
            cursor = page.cursor
            if cursor is None:
                break
    return ItemTally(
        dry_run=True, matched=len(found), estimated=cursor is not None, sample=found[:MOST_NAMED]
    )


@command
async def act_on_items(
    context: Context,
    choice: ItemChoice[Row],
    work: WorkOnMany,
    *,
    after: str | None = None,
    expected: int | None = None,
    limit: int = MOST_ITEMS,
) -> ItemTally:
    """One chunk: do it to the next ones of the list, or to those that are named. Refused if more than
    `expected` are meant."""
    if expected is not None:
        counted = await count_items(context, choice, after)
        if choice.exact and counted.estimated:
            raise Conflict(
                "too_many_at_once",
                f"more than {counted.matched:,} {choice.many} match: too many to count",
                hint="narrow the filter",
            )
        check_expected(counted.matched, expected, choice.one, choice.many)
    named, cursor = list(dict.fromkeys(choice.ids or ())), None
    if choice.ids is None:
        page = await choice.page(context, after, limit)
        # Also a page with none of them says where the next one goes on.
        named, cursor = [each.id for each in choice.those_meant(page.items)], page.cursor
    verdicts = await work(context, named) if named else {}
    done = [ref for ref, why in verdicts.items() if why is None]
    return ItemTally(
        matched=len(named),
        done=len(done),
        ids=done,
        refused=ItemRefusal.by_code(verdicts.items()),
        cursor=cursor,
    )


def one_by_one(work: Work) -> WorkOnMany:
    """The work on many that does the work on one to each of them."""

    async def on_many(context: Context, named: Sequence[str]) -> dict[str, SextonError | None]:
        return {ref: await _verdict(context, work, ref) for ref in named}

    return on_many


async def _verdict(context: Context, work: Work, ref: str) -> SextonError | None:
    """Why it was refused; None: it is done."""
    try:
        await work(context, ref)
    except (Conflict, InvalidField, NotFound) as refused:
        return refused
    return None
