"""How many jobs are due in the same minute as a new job, and which jitter to suggest."""

from __future__ import annotations

from typing import Annotated

from sexton.jobs.preview import Preview
from sexton.jobs.upcoming import count_due
from sexton.postgres.transaction import Context
from sexton.refusal import about

# With this many jobs in one minute, suggest a jitter.
MANY = 5
# The suggestion spreads about this many jobs over each second, within these bounds.
PER_SECOND, SHORTEST, LONGEST = 10, 30, 3600


class PreviewInCompany(Preview, frozen=True, kw_only=True):
    """What a schedule comes to, beside the other jobs."""

    shares_minute: Annotated[
        int | None,
        about("How many jobs are due next in the minute of its first occurrence; null: it has none."),
    ]
    shares_estimated: Annotated[bool, about("True if that is an estimate: there are more than 10,000.")]
    spread_offer: Annotated[
        int | None,
        about("The `jitter_seconds` to write if they are many; null: they are few, or the job has jitter."),
    ]


async def with_company(context: Context, shown: Preview, jitter_seconds: int) -> PreviewInCompany:
    fields = {name: getattr(shown, name) for name in Preview.__struct_fields__}
    first = next((each.scheduled_at for each in shown.occurrences if each.skipped is None), None)
    if first is None:
        return PreviewInCompany(**fields, shares_minute=None, shares_estimated=False, spread_offer=None)
    found = await count_due(context, first.replace(second=0, microsecond=0))
    offer = None
    if found.count >= MANY and not jitter_seconds:
        offer = min(LONGEST, max(SHORTEST, found.count // PER_SECOND))
    return PreviewInCompany(
        **fields, shares_minute=found.count, shares_estimated=found.estimated, spread_offer=offer
    )
