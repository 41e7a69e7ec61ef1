"""The calendar of everything over HTTP: jobs, content and campaigns, what is planned and what happened."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.api.console import routes
from sexton.api.console.routes import AgendaQuery
from sexton.api.operation import Answer, Call, operation
from sexton.content.calendar.calendar import CalendarEntry, list_calendar, read_range
from sexton.content.kind import ContentKind
from sexton.errors import InvalidField
from sexton.notifications.campaigns.calendar import list_campaign_times
from sexton.notifications.kind import NotificationKind
from sexton.runs.agenda import MOST_ENTRIES, Agenda, AgendaEntry, empty_agenda, read_agenda
from sexton.runs.feed_spec import KINDS

# Kinds of target whose jobs are shown as what they are of.
PRODUCTS = (ContentKind.name, NotificationKind.name)
PAGE = 1000
EXAMPLE: dict[str, Any] = {
    "start": "2026-06-01T00:00:00Z",
    "end": "2026-06-02T00:00:00Z",
    "timezone": "Europe/Berlin",
    "entries": [
        {
            "kind": "job",
            "at": "2026-06-01T07:00:00Z",
            "local": "2026-06-01T09:00:00+02:00",
            "timezone": "Europe/Berlin",
            "title": "send-weekly-report",
            "id": "j_4x",
            "job_id": "j_4x",
            "run_id": None,
            "status": "upcoming",
            "action": None,
            "movable": False,
            "revision": 1,
            "count": 1,
            "schedule": "0 9 * * *",
            "subject": None,
            "late_seconds": None,
            "needs_approval": False,
        }
    ],
    "complete": True,
    "density": [{"at": "2026-06-01T07:00:00Z", "count": 1, "failed": 0}],
    "estimated": False,
    "clock_changes": [],
}


@operation(routes.GET_CALENDAR, shared=True, lists=True, answer=Agenda, errors=(422,), answer_example=EXAMPLE)
async def get_calendar(call: Call) -> Answer:
    """Everything that is planned in a range of at most 62 days, worked out by the code that fires, and what
    happened: jobs, planned actions, releases and campaigns. Up to 2,000 entries by name; beyond that how much
    there is in each hour, and of what is over the failures and the jobs that fire seldom. A job that fires
    often has one entry for each hour or day, with their `count`. `movable`: a job for one instant
    (POST /jobs/{job}/reschedule) or a planned action. `label` is for jobs alone."""
    query = call.query(AgendaQuery)
    start, end = read_range(query.start, query.end, query.timezone)
    wanted = {each.strip() for each in query.kinds.split(",")}
    for kind in sorted(wanted - set(KINDS)):
        hint = f"use {', '.join(KINDS)}"
        raise InvalidField("bad_value", f"kinds: there is no {kind}", field="kinds", hint=hint)
    zone = query.timezone or "UTC"
    found = empty_agenda(start, end, zone)
    if "jobs" in wanted:
        found = await read_agenda(
            call.reading,
            start,
            end,
            zone,
            label=query.label,
            others=PRODUCTS,
            ahead=call.services.planned_hours,
        )
    entries, complete = found.entries, found.complete
    if "content" in wanted:
        page = await list_calendar(call.reading, start, end, timezone=zone, limit=PAGE)
        complete = complete and page.cursor is None
        entries = [*entries, *map(_content, page.items)]
    if "campaigns" in wanted:
        entries = [*entries, *await list_campaign_times(call.reading, start, end)]
    entries = sorted(entries, key=lambda each: each.at)
    shown = msgspec.structs.replace(
        found, entries=entries[:MOST_ENTRIES], complete=complete and len(entries) <= MOST_ENTRIES
    )
    return Answer(shown)


def _content(entry: CalendarEntry) -> AgendaEntry:
    return AgendaEntry(
        kind="content",
        at=entry.scheduled_at_utc,
        local=entry.local_time_display,
        timezone=entry.timezone,
        title=entry.title or entry.note or entry.content_id,
        subject=entry.content_id,
        id=entry.schedule_id,
        run_id=entry.execution_id,
        status=entry.status,
        action=entry.action,
        movable=entry.status == "pending" and entry.release_id is None and entry.recurrence_rule is None,
        revision=entry.revision,
        count=entry.occurrences or 1,
        needs_approval=entry.status == "pending" and entry.needs_approval and entry.approved_by is None,
    )
