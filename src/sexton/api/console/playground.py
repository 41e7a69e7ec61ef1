"""Schedules explained over HTTP, without a credential."""

from __future__ import annotations

from sexton import clock
from sexton.api.console import routes
from sexton.api.console.routes import ZonesQuery
from sexton.api.operation import Answer, Call, operation
from sexton.jobs.playground import Explained, ExplainRequest, ZoneFound, explain_schedule, find_zones

EXPLAINED = {
    "explanation": "At 02:30 on Sunday, Berlin time",
    "timezone": "Europe/Berlin",
    "kind": "cron",
    "occurrences": [
        {
            "scheduled_at": "2026-06-07T00:30:00Z",
            "local": "2026-06-07T02:30:00",
            "note": None,
            "skipped": None,
        }
    ],
    "warnings": [],
    "clock_changes": [
        {
            "at": "2026-10-25T01:00:00Z",
            "text": "25 October 2026: clocks go back 1 h: 03:00 becomes 02:00, times in between exist twice",
            "effect": "02:30 happens twice: it fires at the first",
        }
    ],
    "difference": None,
}


@operation(
    routes.EXPLAIN_SCHEDULE, heavy=True, kept=False, answer=Explained, errors=(422,),
    example={"schedule": "30 2 * * 0", "timezone": "Europe/Berlin"}, answer_example=EXPLAINED,
)  # fmt: skip
async def explain_schedule_text(call: Call) -> Answer:
    """What a schedule means: in words, its next occurrences, the clock changes of its zone, and where another
    one differs. Needs no credential; bounded, and limited per address."""
    return Answer(explain_schedule(call.json(ExplainRequest), clock.now()))


@operation(
    routes.LIST_ZONES, answer=list[ZoneFound], errors=(422,),
    answer_example=[{"zone": "Europe/Berlin", "offset": "+02:00", "abbreviation": "CEST"}],
)  # fmt: skip
async def list_zones(call: Call) -> Answer:
    """Time zones by a part of their name, such as a city: at most 20. Needs no credential."""
    return Answer(find_zones(call.query(ZonesQuery).search, clock.now()))
