"""The views of the console: where each is, and what it asks the API. A test with a real browser fails when a
page asks something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sexton.cli.bench.harness import SCHEMA, Ground
from sexton.clock import iso
from sexton.model import encode_id

# What the frame asks before any page does.
FRAME = ("/session",)
ZONE = "UTC"
# The filters that the counts of runs by state follow.
COUNTED = frozenset({"job", "trigger", "queue", "since", "until"})
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MS = "milliseconds"  # as browsers write instants
EVERYONE = {
    "name": "hello", "template_id": "hello", "template_vars": {}, "audience": {"everyone": True},
    "channel": ["email"], "topic": None, "timezone": None,
}  # fmt: skip
PREVIEW = {"schedule": "0 * * * *", "timezone": ZONE, "gap": None, "fold": None, "jitter_seconds": 0}


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """One request to the API, below its prefix."""

    path: str
    body: Any = None

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


@dataclass(frozen=True, slots=True)
class PageView:
    """`address` is the console's own; empty where a view is only opened by typing. `counts`: it looks at
    every recipient, so its time grows with their number, and is told apart from that of the others."""

    page: str
    name: str
    address: str
    questions: tuple[PageQuestion, ...]
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Examples:
    """What the views of one thing show, and the time."""

    now: datetime
    jobs: int
    job: str = ""
    rare: str = ""
    run: str = ""
    live: str = ""
    dead: str = ""
    schedule: str = ""
    entity: str = ""
    campaign: str = ""
    message: str = ""


async def find_examples(made: Ground, jobs: int) -> Examples:
    """From the middle of what is there."""
    row = await made.watch.fetchrow(
        f"""select now() as now,
            (select name from {SCHEMA}.jobs where id = $1) as rare,
            (select run_id from {SCHEMA}.history where run_id is not null and recorded_at < now() - interval
                '5 days' order by recorded_at desc limit 1) as run,
            (select min(id) from {SCHEMA}.runs) as live,
            (select run_id from {SCHEMA}.dead order by died_at limit 1) as dead,
            (select id from {SCHEMA}.content_schedules order by id desc limit 1) as schedule,
            (select entity_id from {SCHEMA}.content_schedules order by id desc limit 1) as entity,
            (select min(id) from {SCHEMA}.campaigns) as campaign,
            (select max(id) from {SCHEMA}.messages) as message""",
        max(1, jobs // 2),
    )
    assert row is not None
    found = Examples(
        row["now"], jobs, job=encode_id("j", max(1, jobs // 2)), rare=row["rare"].partition("/")[2]
    )
    marks = {"run": "r", "live": "r", "dead": "r", "schedule": "c", "campaign": "k", "message": "n"}
    ids: dict[str, Any] = {
        name: encode_id(mark, row[name]) for name, mark in marks.items() if row[name] is not None
    }
    return replace(found, entity=row["entity"] or "", **ids)


def views(of: Examples) -> tuple[PageView, ...]:
    """Every page, every tab, and lists as people filter and sort them."""
    return tuple(
        view for group in (_frame, _jobs, _job, _runs, _reading, _calendars, _products) for view in group(of)
    )


def _frame(of: Examples) -> Iterator[PageView]:
    # The busiest minute is shown with its jobs: often that of the next whole hour.
    hour = of.now.replace(minute=0, second=0, microsecond=0) + HOUR
    minute = {"start": iso(hour, MS), "end": iso(hour + timedelta(minutes=1), MS), "kinds": "jobs"}
    busiest = f"/calendar?{urlencode(minute)}"
    yield _view("overview", "", "/", "/overview", "/upcoming?minutes=60", busiest)
    for name, text in (
        ("a rare word", of.rare), ("a common word", "team"), ("a beginning", "team-7/inv"), ("a run", of.run),
        ("one letter", "t"), ("nothing", "zzzz nothing"),
    ):  # fmt: skip
        yield _view("search", name, "", f"/search?{urlencode({'q': text, 'limit': 12})}")


def _jobs(of: Examples) -> Iterator[PageView]:
    chosen: tuple[tuple[str, dict[str, str]], ...] = (
        ("as made", {}),
        ("by name", {"sort": "name"}),
        ("by name, backwards", {"sort": "-name"}),
        ("next", {"sort": "next_run_at"}),
        ("paused", {"status": "paused"}),
        ("completed", {"status": "completed"}),
        ("a label", {"label": "team=7"}),
        ("a target", {"target": "sexton.noop"}),
        ("problems", {"problem": "true"}),
        ("a rare word", {"search": of.rare}),
        ("a common word", {"search": "invoice"}),
        ("two words and an order", {"search": "team-7 report", "sort": "next_run_at"}),
        ("paused of a label, by name", {"status": "paused", "label": "team=20", "sort": "name"}),
    )
    for name, filters in chosen:
        yield _list("jobs", name, "/jobs", "/jobs", {"expand": "strip", "limit": 100}, filters)


def _job(of: Examples) -> Iterator[PageView]:
    job = f"/jobs/{of.job}"
    all_ = (job, f"{job}/preview?count=10", f"{job}/runs?include=skipped&limit=50")
    tabs = {
        "runs": f"{job}/runs?include=skipped&limit=50",
        "accounting": f"{job}/why?past=50&ahead=5",
        "trends": f"{job}/stats?hours=24",
        "changes": f"{job}/changes?limit=100",
    }
    for tab, asked in tabs.items():
        yield _view("job", tab, job if tab == "runs" else f"{job}?tab={tab}", *all_, asked)
    yield _view("job", "runs that died", f"{job}?status=dead", *all_, f"{tabs['runs']}&status=dead")
    yield _view("job", "trends of a month", "", f"{job}/stats?hours=720")
    yield _view("job", "definition", f"{job}?tab=definition", *all_)
    form = "/jobs/new?" + urlencode({"schedule": PREVIEW["schedule"], "timezone": ZONE})
    asked_by_form = (PageQuestion("/preview?count=10", PREVIEW), PageQuestion("/workers"))
    yield PageView("new job", "", form, asked_by_form)
    yield PageView("edit job", "", f"{job}/edit", (PageQuestion(job), *asked_by_form))


def _runs(of: Examples) -> Iterator[PageView]:
    hour, day = iso(of.now.replace(second=0, microsecond=0) - HOUR, MS), iso(of.now - DAY, MS)
    chosen: tuple[tuple[str, dict[str, str]], ...] = (
        ("", {}),
        ("dead", {"status": "dead"}),
        ("success", {"status": "success"}),
        ("pending", {"status": "pending"}),
        ("cancelled", {"status": "cancelled"}),
        ("skipped", {"status": "skipped"}),
        ("by hand", {"trigger": "manual"}),
        ("backfill", {"trigger": "backfill"}),
        ("of a queue", {"queue": "default"}),
        ("of a queue that none is in", {"queue": "nothing-here"}),
        ("with an error", {"error": "is away"}),
        ("with an error that none has", {"error": "nothing says this"}),
        ("of a job", {"job": of.job}),
        ("success of a job", {"status": "success", "job": of.job}),
        ("late in an hour", {"late": "true", "since": hour}),
        ("late in a day", {"late": "true", "since": day}),
        ("late", {"late": "true"}),
        ("since an hour", {"since": hour}),
        ("dead of a day", {"status": "dead", "since": day}),
    )
    for name, filters in chosen:
        more = {"include": "skipped"} if filters.get("status") == "skipped" else {}
        shown = _list("runs", name, "/runs", "/runs", {"limit": 100, **more}, filters)
        query = urlencode({key: value for key, value in filters.items() if key in COUNTED})
        counts = PageQuestion(f"/runs/counts{'?' if query else ''}{query}")
        yield replace(shown, questions=(*shown.questions, counts))
    yield _view("run", "ended", f"/runs/{of.run}", f"/runs/{of.run}")
    yield _view("run", "live", f"/runs/{of.live}", f"/runs/{of.live}")


def _reading(of: Examples) -> Iterator[PageView]:
    yield _view("dead letters", "groups", "/dead", "/dead/groups?limit=200")
    groups = PageQuestion("/dead/groups?limit=200")
    for name, chosen in (
        ("all", {"tab": "letters"}), ("of a group", {"error_group": "ConnectionError: host # is away"}),
        ("of a job", {"job": of.job}), ("poison", {"tab": "letters", "reason": "poison"}),
    ):  # fmt: skip
        asked = {key: value for key, value in chosen.items() if key != "tab"}
        path = f"/dead?{urlencode({'limit': 100, **asked})}"
        yield PageView("dead letters", name, f"/dead?{urlencode(chosen)}", (groups, PageQuestion(path)))
    yield _view("dead letter", "", f"/dead/{of.dead}", f"/dead/{of.dead}")
    yield _view("queues", "", "/queues", "/queues?expand=hour", "/backlog", "/workers")
    yield _view("cluster", "", "/cluster", "/cluster", "/cluster/doctor")
    yield _view("settings", "you", "/settings", "/sessions")
    yield _view("settings", "keys", "/settings?tab=keys", "/keys?limit=1000&every=true")
    yield _view("settings", "secrets", "/settings?tab=secrets", "/secrets")
    yield _view("settings", "namespaces", "/settings?tab=namespaces", "/namespaces", "/namespaces/default")
    yield _view("settings", "webhooks", "/settings?tab=webhooks", "/dead/target", "/content/notices")
    for name, chosen in (
        ("audit", {}), ("audit of an actor", {"actor": "person-7"}),
        ("audit of an action", {"action": "job.*"}),
        ("audit of a rare action", {"action": "job.paused"}), ("audit of an object", {"object": "name-77"}),
    ):  # fmt: skip
        query = urlencode({"limit": 100, **chosen})
        yield _view("settings", name, f"/settings?{urlencode({'tab': 'audit', **chosen})}", f"/audit?{query}")
    explained = {"schedule": "0 9 * * 1", "timezone": ZONE, "count": 20}
    address = "/playground?" + urlencode({"schedule": "0 9 * * 1", "timezone": ZONE})
    yield PageView("playground", "", address, (PageQuestion("/explain", explained),))


def _calendars(of: Examples) -> Iterator[PageView]:
    today = of.now.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - DAY * today.weekday()
    first = today.replace(day=1)
    month = first - DAY * first.weekday()
    next_month = (first + DAY * 31).replace(day=1)
    weeks = -(-(next_month - month).days // 7)
    spans = {"day": (today, 1), "week": (monday, 7), "month": (month, 7 * weeks), "agenda": (today, 14)}
    for view, (start, days) in spans.items():
        span = {"start": iso(start, MS), "end": iso(start + DAY * days, MS), "timezone": ZONE}
        for page, name, address, kinds in (
            ("calendar", view, "/calendar", "jobs,content,campaigns"),
            ("content", f"calendar, {view}", "/content/calendar", "content"),
        ):
            asked = urlencode({**span, "kinds": kinds})
            yield _view(page, name, f"{address}?view={view}", f"/calendar?{asked}")


def _products(of: Examples) -> Iterator[PageView]:
    past = {"sort": "-scheduled_at", "start": iso(of.now - DAY * 14, MS), "end": iso(of.now + HOUR, MS)}
    board = [
        f"/content/schedules?{urlencode({'status': status, 'limit': 50, **of_past})}"
        for statuses, of_past in ((("pending", "processing"), {}), (("done", "failed", "skipped"), past))
        for status in statuses
    ]
    yield _view("content", "board", "/content/board", *board)
    of_type = [f"{path}&entity_type=post" for path in board]
    yield _view("content", "board of a type", "/content/board?entity_type=post", *of_type)
    for name, chosen in (("entities", {}), ("entities by a beginning", {"search": of.entity[:2] or "p"})):
        yield _list("content", name, "/content/entities", "/content/entities", {"limit": 100}, chosen)
    for name, chosen in (
        ("releases", {}), ("releases by a word", {"search": "spring"}),
        ("the last releases", {"sort": "-scheduled_at"}),
    ):  # fmt: skip
        yield _list("content", name, "/content/releases", "/content/releases", {"limit": 100}, chosen)
    action = f"/content/schedules/{of.schedule}"
    yield _view("content", "an action", action, action, f"{action}/executions?limit=50")
    entity = f"/content/entities/post/{of.entity}"
    yield _view("content", "an entity", entity, entity)
    notifications = "/notifications"
    for name, chosen in (
        ("", {}), ("a name", {"search": "spring"}), ("by name", {"sort": "name"}),
        ("by time", {"sort": "-send_at"}),
    ):  # fmt: skip
        yield _list("campaigns", name, f"{notifications}/campaigns", "/campaigns", {"limit": 100}, chosen)
    form = f"{notifications}/campaigns/new?template=hello"
    new = _view("campaigns", "new", form, "/templates?limit=50", "/templates/hello")
    yield new
    shown = PageQuestion("/templates/hello/preview", {"channel": "email", "template_vars": {}})
    asked = (PageQuestion("/campaigns/preview", EVERYONE), shown)
    all_ = f"{form}&who=everyone"
    yield PageView("campaigns", "new, to all recipients", all_, (*new.questions, *asked), counts=True)
    campaign = f"/campaigns/{of.campaign}"
    one = _view("campaigns", "one", notifications + campaign, campaign, f"{campaign}/progress")
    yield replace(one, questions=(*one.questions, shown))
    for name, chosen in (
        ("", {}), ("failed", {"status": "failed"}), ("of a recipient", {"user_id": "u7"}),
        ("of a template", {"template_id": "hello"}), ("that wait", {"status": "pending"}),
        ("the oldest", {"sort": "created_at"}), ("of a campaign", {"campaign_id": of.campaign}),
        ("failed of a campaign", {"campaign_id": of.campaign, "status": "failed"}),
        ("of a campaign, the last", {"campaign_id": of.campaign, "sort": "-user_id"}),
        ("failed of a template", {"template_id": "hello", "status": "failed"}),
        ("of a template that none has", {"template_id": "nothing-here"}),
        ("failed of a recipient", {"user_id": "u7", "status": "failed"}),
        ("of a template of a campaign", {"campaign_id": of.campaign, "template_id": "hello"}),
    ):  # fmt: skip
        if "" in chosen.values():  # there is no campaign
            continue
        yield _list("messages", name, f"{notifications}/messages", "/notifications", {"limit": 100}, chosen)
    message = f"/messages/{of.message}"
    yield _view("messages", "one", notifications + message, f"/notifications/{of.message}/why")
    for name, chosen in (("", {}), ("a beginning", {"search": "u7"}), ("the last", {"sort": "-user_id"})):
        yield _list("recipients", name, f"{notifications}/recipients", "/recipients", {"limit": 100}, chosen)
    of_one = "/notifications?user_id=u7&limit=50"
    yield _view("recipients", "one", f"{notifications}/recipients/u7", "/recipients/u7", of_one)
    for name, chosen in (
        ("", {}),
        ("a beginning", {"search": "hel"}),
        ("the last", {"sort": "-template_id"}),
    ):
        yield _list("templates", name, f"{notifications}/templates", "/templates", {"limit": 100}, chosen)
    template = "/templates/hello"
    preview = PageQuestion(f"{template}/preview", {"channel": "email"})
    one = _view("templates", "one", notifications + template, template, f"{template}/versions?limit=50")
    yield replace(one, questions=(*one.questions, preview))
    yield _view("channels", "", f"{notifications}/channels", "/channels")


def _view(page: str, name: str, address: str, *paths: str) -> PageView:
    return PageView(page, name, address, tuple(PageQuestion(path) for path in paths))


def _list(
    page: str, name: str, address: str, path: str, always: dict[str, Any], chosen: dict[str, str]
) -> PageView:
    """A list whose filters stand in the address bar."""
    query = urlencode(chosen)
    asked = f"{path}?{urlencode({**always, **chosen})}"
    return _view(page, name, f"{address}{'?' if query else ''}{query}", asked)
