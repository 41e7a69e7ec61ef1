"""What the console asks for beside the lists: the feed of events, figures, search, what comes next."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sexton.api.jobs.routes import JobChoice
from sexton.api.route import Cursor, Limit, Query, Route
from sexton.api.runs.routes import DeadReason, RunChoice
from sexton.jobs.playground import ExplainRequest
from sexton.runs.feed_spec import CalendarFeedSpec
from sexton.security.role import Role


class EventsQuery(Query, frozen=True, kw_only=True):
    job: Annotated[
        str | None, Meta(description="Also `run` events of this job: its runs as they change.")
    ] = None
    run: Annotated[str | None, Meta(description="Also `log` and `progress` events of this run.")] = None
    follow: Annotated[
        str | None,
        Meta(
            description="Also `answer` events of these lists, when they change: their addresses, such as "
            "`/api/v1/runs?limit=100`; several with commas."
        ),
    ] = None
    seconds: Annotated[
        Annotated[int, Meta(ge=1, le=3600)] | None,
        Meta(description="End after so long. Default: when the caller goes."),
    ] = None


class UpcomingQuery(Query, frozen=True, kw_only=True):
    minutes: Annotated[int, Meta(ge=1, le=60, description="How many minutes.")] = 60


class SearchQuery(Query, frozen=True, kw_only=True):
    q: Annotated[
        str, Meta(min_length=1, max_length=200, description="An id, or words or beginnings of words.")
    ]
    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.")] = 20


class ZonesQuery(Query, frozen=True, kw_only=True):
    search: Annotated[
        str, Meta(min_length=1, max_length=100, description="A part of the zone's name, such as a city.")
    ]


class FiguresQuery(Query, frozen=True, kw_only=True):
    hours: Annotated[int, Meta(ge=1, le=24 * 31, description="How many hours back.")] = 24


class AgendaQuery(Query, frozen=True, kw_only=True):
    start: Annotated[str, Meta(description="The first instant; with `timezone`, a local time or a date.")]
    end: Annotated[str, Meta(description="The end; the instant itself is not included.")]
    timezone: Annotated[str | None, Meta(description="The zone of local times and of the clock changes.")] = (
        None
    )
    kinds: Annotated[
        str, Meta(description="What to show: jobs, content, campaigns; several with commas.")
    ] = "jobs,content,campaigns"
    label: Annotated[str | None, Meta(description="Only jobs with this label: `name` or `name=value`.")] = (
        None
    )


class CalendarFeedsQuery(Query, frozen=True, kw_only=True):
    limit: Limit = 100
    cursor: Cursor = None


GET_EVENTS = Route("GET", "/events", "console", "Follow what happens", Role.VIEWER, query=EventsQuery)
GET_OVERVIEW = Route("GET", "/overview", "console", "Show the namespace at a glance", Role.VIEWER)
GET_UPCOMING = Route(
    "GET", "/upcoming", "console", "Count what fires in the next minutes", Role.VIEWER, query=UpcomingQuery
)
SEARCH = Route("GET", "/search", "console", "Search everything", Role.VIEWER, query=SearchQuery)
EXPLAIN_SCHEDULE = Route(
    "POST", "/explain", "console", "Explain a schedule", None, body=ExplainRequest, open=True
)
LIST_ZONES = Route("GET", "/zones", "console", "Find a time zone", None, query=ZonesQuery, open=True)
GET_JOB_FIGURES = Route(
    "GET", "/jobs/{job}/stats", "console", "Show a job over time", Role.VIEWER, query=FiguresQuery
)
GET_CALENDAR = Route(
    "GET", "/calendar", "console", "Show what is planned and what happened", Role.VIEWER, query=AgendaQuery
)
CREATE_CALENDAR_FEED = Route(
    "POST", "/calendar/feeds", "console", "Make a feed of the calendar", Role.EDITOR, body=CalendarFeedSpec,
    body_optional=True,
)  # fmt: skip
LIST_CALENDAR_FEEDS = Route(
    "GET", "/calendar/feeds", "console", "List feeds of the calendar", Role.VIEWER, query=CalendarFeedsQuery
)
REVOKE_CALENDAR_FEED = Route(
    "POST", "/calendar/feeds/{calendar_feed}/revoke", "console", "Revoke a feed of the calendar", Role.EDITOR
)
READ_CALENDAR_FEED = Route(
    "GET", "/calendar/feeds/{token}/calendar.ics", "console", "Read a feed of the calendar", None
)
LIST_WORKERS = Route("GET", "/workers", "console", "List the workers of the namespace", Role.VIEWER)
LIST_BACKLOG = Route("GET", "/backlog", "console", "Show what waits for a worker", Role.VIEWER)


# Lists as files


Form = Annotated[
    Literal["csv", "json", "jsonl"], Meta(description="CSV, a JSON array, or a line of JSON each.")
]


class JobsExportQuery(JobChoice, frozen=True, kw_only=True):
    format: Form = "jsonl"


class RunsExportQuery(RunChoice, frozen=True, kw_only=True):
    format: Form = "jsonl"


class DeadExportQuery(Query, frozen=True, kw_only=True):
    job: Annotated[str | None, Meta(description="Only letters of this job: its id or name.")] = None
    error_group: Annotated[str | None, Meta(description="Only letters with this cause.")] = None
    reason: Annotated[DeadReason | None, Meta(description="Only letters that died like this.")] = None
    format: Form = "jsonl"


EXPORT_JOBS = Route("GET", "/export/jobs", "console", "Export jobs", Role.VIEWER, query=JobsExportQuery)
EXPORT_RUNS = Route("GET", "/export/runs", "console", "Export runs", Role.VIEWER, query=RunsExportQuery)
EXPORT_DEAD = Route(
    "GET", "/export/dead", "console", "Export dead letters", Role.VIEWER, query=DeadExportQuery
)
