"""What is planned as iCalendar: jobs for a month ahead, content and campaigns for a year.

A job that fires more often than a few times a day has no events of its own: what fires often is one event of
each day, which names the jobs with how many times. So a calendar of any namespace has a bounded number of
events and of bytes; if there are more, its description says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta

from sexton import clock
from sexton.api.console.agenda import PRODUCTS
from sexton.content.calendar.calendar import CalendarEntry, list_calendar
from sexton.content.calendar.text import CalendarText, escaped, stamp
from sexton.notifications.campaigns.calendar import list_campaign_times
from sexton.postgres.transaction import Context, query
from sexton.runs.agenda import Agenda, AgendaEntry, read_agenda
from sexton.runs.feed import CalendarFeedView
from sexton.runs.planned_hours import PlannedHours
from sexton.schedules.zone import zone

JOBS_AHEAD, AHEAD = timedelta(days=30), timedelta(days=366)
MOST_EVENTS, MOST_BYTES = 2000, 1_000_000
PAGE = 1000
# After so many events others may go on.
WRITTEN_TOGETHER = 50
# Of what fires often on a day: so many are in the title, so many in the text.
MOST_TITLED, MOST_LISTED = 3, 50
ABOUT = (
    "Jobs of the next 30 days, content and campaigns of the next year. What fires often is one event a day."
)
LEFT_OUT = "There is more than this calendar holds: some times are left out."


async def calendar_of(
    context: Context, feed: CalendarFeedView, namespace: str, ahead: PlannedHours | None = None
) -> bytes:
    """What a feed shows now. `ahead` remembers what schedules do, from one call to the next."""
    return await _calendar(replace(context, namespace=namespace), feed, ahead)


@query
async def _calendar(context: Context, feed: CalendarFeedView, ahead: PlannedHours | None) -> bytes:
    now = await context.time()
    # The jobs are asked for as of the same instant: what is over by then is not planned.
    context = replace(context, now=now)
    complete, often = True, dict[date, dict[str, int]]()
    planned: list[tuple[datetime, CalendarEntry | AgendaEntry]] = []
    if "content" in feed.kinds:
        page = await list_calendar(context, now, now + AHEAD, timezone=feed.timezone, limit=PAGE)
        planned += [(each.scheduled_at_utc, each) for each in page.items]
        complete = page.cursor is None
    if "campaigns" in feed.kinds:
        planned += [(each.at, each) for each in await list_campaign_times(context, now, now + AHEAD)]
    if "jobs" in feed.kinds:
        jobs = await read_agenda(
            context, now, now + JOBS_AHEAD, feed.timezone, label=feed.label, others=PRODUCTS, ahead=ahead
        )
        planned += [(each.at, each) for each in jobs.entries if each.status == "upcoming" and each.count == 1]
        often = _often(jobs, feed.timezone)
        complete = complete and jobs.complete
    text = CalendarText(feed.name)
    what = [*sorted(often.items()), *(each for _, each in sorted(planned, key=lambda each: each[0]))]
    for place, each in enumerate(what):
        if place == MOST_EVENTS or text.size > MOST_BYTES:
            complete = False
            break
        if isinstance(each, CalendarEntry):
            text.add(each, brief=True)
        else:
            text.event(_event(feed, each) if isinstance(each, AgendaEntry) else _day(feed, *each))
        if place % WRITTEN_TOGETHER == 0:
            await clock.sleep(0)
    text.about = ABOUT if complete else f"{ABOUT} {LEFT_OUT}"
    return text.encoded()


def _often(jobs: Agenda, timezone: str) -> dict[date, dict[str, int]]:
    """By day, how many times fire that have no event of their own: by job, or all of them together."""
    info, days = zone(timezone).info, dict[date, dict[str, int]]()
    named: dict[date, int] = {}
    for each in jobs.entries:
        if each.status == "upcoming":
            day = each.at.astimezone(info).date()
            named[day] = named.get(day, 0) + each.count
            if each.count > 1:
                counts = days.setdefault(day, {})
                counts[each.title] = counts.get(each.title, 0) + each.count
    if not jobs.complete:
        every: dict[date, int] = {}
        for hour in jobs.density:
            day = hour.at.astimezone(info).date()
            every[day] = every.get(day, 0) + hour.count
        for day, count in every.items():
            if count > named.get(day, 0):
                days.setdefault(day, {})["other jobs"] = count - named.get(day, 0)
    return days


def _event(feed: CalendarFeedView, each: AgendaEntry) -> list[str]:
    about = [each.local, each.timezone, *([each.schedule] if each.schedule else [])]
    return [
        f"UID:{each.id}-{int(each.at.timestamp())}@sexton",
        f"DTSTAMP:{stamp(feed.created_at)}",
        f"DTSTART:{stamp(each.at)}",
        f"SUMMARY:{escaped(each.title)}",
        f"DESCRIPTION:{escaped(chr(10).join(about))}",
        f"CATEGORIES:{each.kind}",
    ]


def _day(feed: CalendarFeedView, day: date, counts: Mapping[str, int]) -> list[str]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    said = [f"{name} {count:,}×" for name, count in ordered]
    title = ", ".join(said[:MOST_TITLED])
    if len(said) > MOST_TITLED:
        title += f" and {len(said) - MOST_TITLED:,} more"
    lines = said[:MOST_LISTED] + (["…"] if len(said) > MOST_LISTED else [])
    return [
        f"UID:often-{feed.feed_id}-{day:%Y%m%d}@sexton",
        f"DTSTAMP:{stamp(feed.created_at)}",
        f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
        f"DTEND;VALUE=DATE:{day + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{escaped(title)}",
        f"DESCRIPTION:{escaped(chr(10).join(lines))}",
        "CATEGORIES:job",
    ]
