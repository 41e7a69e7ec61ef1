"""Every change over HTTP is in the audit, with who, from where, on which request and why."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from sexton.api.application import operations
from sexton.config import Settings
from sexton.engine.logs import UtcFormatter
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.access import own_name
from sexton.security.audit import AuditView
from sexton.security.audit_chain import seal
from tests.api.conftest import Api, Reply, serve
from tests.api.test_sessions import signed_in
from tests.changes import entries, tables
from tests.seeding import Store

HOURLY = {"name": "hourly", "schedule": "0 * * * *", "target": {"handler": "work"}}
CONFIGURED = "a-key-of-the-configuration"
ADMIN = {"Authorization": f"Bearer {CONFIGURED}"}

Call = tuple[str, Any]
Case = Callable[[Api, Store], Awaitable[Call]]


def plain(path: str, body: Any = None) -> Case:
    """A call on the job `hourly`, which is there."""

    async def make(api: Api, store: Store) -> Call:
        await api("POST", "/jobs", HOURLY)
        return path, body

    return make


async def paused(api: Api, store: Store) -> Call:
    await api("POST", "/jobs", HOURLY)
    await api("POST", "/jobs/hourly/pause")
    return "/jobs/hourly/resume", None


async def running(api: Api, store: Store) -> Call:
    await api("POST", "/jobs", HOURLY)
    run = (await api("POST", "/jobs/hourly/run")).json()["run_id"]
    return f"/runs/{run}/cancel", {"reason": "wrong month"}


def dead(path: str, body: Any = None) -> Case:
    async def make(api: Api, store: Store) -> Call:
        await api("POST", "/jobs", HOURLY)
        await store.execute(
            """insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at,
                due_at, revision, trigger, missed, attempt)
            select 7, job_id, 'exhausted', 'E', lane, 2, now(), now(), 1, 'schedule', false, 3
            from sexton.timers"""
        )
        return path, body

    return make


async def paused_queue(api: Api, store: Store) -> Call:
    await api("POST", "/queues/mail/pause")
    return "/queues/mail/resume", None


def key(path: str) -> Case:
    async def make(api: Api, store: Store) -> Call:
        made = await api("POST", "/keys", {"name": "deploy", "role": "editor"})
        return path.format(made.json()["key_id"]), None

    return make


async def node(api: Api, store: Store) -> Call:
    await store.node()
    return "/nodes/test/drain", None


ACTION = {
    "entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "ann",
    "local_time": "2099-03-02 09:00", "timezone": "Europe/Berlin", "needs_approval": True,
}  # fmt: skip


def planned(what: str, body: Any = None, **more: Any) -> Case:
    """A call on a planned action, which is there."""

    async def make(api: Api, store: Store) -> Call:
        made = await api("POST", "/content/schedules", {**ACTION, **more})
        assert made.status == 201, made.content
        return f"/content/schedules/{made.json()['schedule_id']}/{what}", body

    return make


ADAPTER = {"kind": "http", "config": {"url": "https://cms.example", "preset": "strapi"}}


async def adapter(api: Api, store: Store) -> Call:
    await api("PUT", "/content/adapters/cms", ADAPTER)
    return "/content/adapters/cms", None


async def feed(api: Api, store: Store) -> Call:
    made = await api("POST", "/content/feeds", {"author": "ann"})
    assert made.status == 201, made.content
    return f"/content/feeds/{made.json()['feed_id']}/revoke", None


WINDOW = {
    "entity_type": "post", "entity_id": "1", "starts": "2099-03-02 09:00", "ends": "2099-03-02 17:00",
    "timezone": "Europe/Berlin", "created_by": "ann",
}  # fmt: skip
RELEASE = {
    "items": [{"entity_type": "post", "entity_id": "1", "action": "publish"}], "created_by": "ann",
    "at": "2099-03-02T09:00:00Z", "needs_approval": True,
}  # fmt: skip


def released(what: str, body: Any = None) -> Case:
    """A call on a release, which is there."""

    async def make(api: Api, store: Store) -> Call:
        made = await api("POST", "/content/releases", RELEASE)
        assert made.status == 201, made.content
        shown = made.json()
        item = shown["items"][0]["schedule_id"]
        return f"/content/releases/{shown['release_id']}/{what}".format(item=item), body

    return make


async def told(api: Api, store: Store) -> Call:
    made = await api("PUT", "/content/notices", NOTICES)
    assert made.status == 200, made.content
    return "/content/notices", None


LATER = {"template_id": "hello", "user_id": "ann", "channel": "email", "send_at": "2099-03-02T09:00:00Z"}
CAMPAIGN = {"name": "spring", "template_id": "hello", "audience": {"everyone": True}}
RECURRING = {"recurrence_rule": "0 9 * * mon", "template_id": "hello", "channel": "email", "user_id": "ann"}
DIGEST = {"template_id": "hello", "channel": "email", "schedule": "0 9 * * mon"}
SEQUENCE = {"steps": [{"template_id": "hello", "channel": "email", "day": 3}], "stop_on": ["bought"]}
SEGMENT = {"filter": {"field": "plan", "is": "pro"}}


def mailed(path: str, body: Any = None, *before: tuple[str, str, Any]) -> Case:
    """A call when there are a recipient and a template, and what these requests have made: `{}` in a path is
    the id of the last one."""

    async def make(api: Api, store: Store) -> Call:
        made = ""
        for method, asked, sent in (
            ("PUT", "/recipients/ann", {"email": "ann@example.org"}),
            ("PUT", "/templates/hello", {"email": {"subject": "Hello", "text": "Hello"}}),
            *before,
        ):
            reply = await api(method, asked.format(made), sent)
            assert reply.status < 300, reply.content
            ids = (reply.json() or {}) if reply.content else {}
            made = next((ids[name] for name in IDS if name in ids), made)
        return path.format(made), body

    return make


IDS = ("notification_id", "campaign_id", "schedule_id")
MESSAGE = ("POST", "/notifications", LATER)
MADE = ("POST", "/campaigns", CAMPAIGN)
STARTED = ("POST", "/campaigns/{}/start", None)
AGAIN = ("POST", "/notifications/schedules", RECURRING)
ENTERED = (("PUT", "/sequences/steps", SEQUENCE), ("POST", "/sequences/steps/members", {"user_id": "ann"}))


def doubtful(path: str) -> Case:
    """A call on a message, or the campaign of one, that may have gone out."""

    async def make(api: Api, store: Store) -> Call:
        campaign, _ = await mailed("{}", None, MADE)(api, store)
        await store.execute(
            """insert into sexton.messages (id, namespace, campaign_id, user_id, channels, template_id,
                template_version, scheduled_at, submitted_at, status, created_at, created_by)
            select 5, 'default', id, 'ann', '{email}', 'hello', 1, now(), now(), 'unconfirmed', now(), 'ann'
            from sexton.campaigns"""
        )
        await store.execute(
            """insert into sexton.campaign_chunks (campaign_id, number, namespace, first_id, last_id, size,
                due_at, state, next_at, unconfirmed, changed_at)
            select id, 0, 'default', 5, 5, 1, now(), 'done', now(), 1, now() from sexton.campaigns"""
        )
        await store.execute("update sexton.campaigns set status = 'done', expanded_at = now()")
        return path.format(campaign=campaign, message="n_5"), None

    return make


NOTICES = {"url": "https://hooks.example/content"}
BACKFILL = {"start": "2026-05-01T00:00:00Z", "end": "2026-05-01T03:00:00Z"}
CASES: dict[str, Case] = {
    "create_job": plain("/jobs", {**HOURLY, "name": "other"}),
    "edit_job": plain("/jobs/hourly", {"max_retries": 9}),
    "put_job": plain("/jobs/by-name/hourly", {**HOURLY, "owner": "ada"}),
    "delete_job": plain("/jobs/hourly"),
    "pause_job": plain("/jobs/hourly/pause", {"reason": "mail server moves"}),
    "resume_job": paused,
    "reschedule_job": plain("/jobs/hourly/reschedule", {"at": "in 10m"}),
    "run_job": plain("/jobs/hourly/run", {"payload": {"n": 1}}),
    "backfill_job": plain("/jobs/hourly/backfill", BACKFILL),
    "preview_spec": plain("/preview", {"schedule": "every 1h"}),
    "create_jobs": plain("/jobs/bulk", {"name": "line", "schedule": "every 1h"}),
    "cancel_run": running,
    "set_dead_target": plain("/dead/target", {"target": {"http": {"url": "https://ops.example/dead"}}}),
    "redrive_dead": dead("/dead/r_7/redrive"),
    "discard_dead": dead("/dead/r_7/discard"),
    "redrive_many": dead("/dead/redrive", {"all": True}),
    "discard_many": dead("/dead/discard", {"all": True}),
    "put_queue": plain("/queues/mail", {"concurrency": 3}),
    "change_queue": plain("/queues/mail", {"rate": 3}),
    "pause_queue": plain("/queues/mail/pause", {"reason": "too hot"}),
    "resume_queue": paused_queue,
    "send_test": plain("/targets/test", {"target": {"http": {"url": "http://127.0.0.1:9/"}}}),
    "create_key": plain("/keys", {"name": "deploy", "role": "editor"}),
    "revoke_key": key("/keys/{}"),
    "rotate_key": key("/keys/{}/rotate"),
    "create_namespace": plain("/namespaces", {"name": "billing"}),
    "change_namespace": plain("/namespaces/default", {"jobs": 1000}),
    "drain_node": node,
    "act_on_jobs": plain("/jobs/actions", {"action": "pause", "filter": {"all": True}}),
    "make_link": plain("/links"),
    "create_schedule": plain("/content/schedules", ACTION),
    "reschedule_content": planned("reschedule", {"local_time": "2099-03-03 09:00"}),
    "cancel_content": planned("cancel"),
    "skip_content": planned("skip", recurrence_rule="FREQ=DAILY"),
    "run_content": planned("run"),
    "approve_content": planned("approve"),
    "create_window": plain("/content/windows", WINDOW),
    "create_release": plain("/content/releases", RELEASE),
    "reschedule_release": released("reschedule", {"at": "2099-03-03T09:00:00Z"}),
    "cancel_release": released("cancel"),
    "run_release": released("run"),
    "approve_release": released("approve"),
    "check_release": released("check"),
    "add_release_items": released(
        "items", {"items": [{"entity_type": "post", "entity_id": "2", "action": "archive"}]}
    ),
    "remove_release_item": released("items/{item}"),
    "set_notices": plain("/content/notices", NOTICES),
    "remove_notices": told,
    "put_adapter": plain("/content/adapters/cms", ADAPTER),
    "delete_adapter": adapter,
    "import_schedules": plain("/content/schedules/bulk", {**ACTION, "entity_id": "2"}),
    "create_content_feed": plain("/content/feeds", {"author": "ann"}),
    "revoke_content_feed": feed,
    "put_recipient": mailed("/recipients/bob", {"email": "bob@example.org"}),
    "change_recipient": mailed("/recipients/ann", {"locale": "de"}),
    "erase_recipient": mailed("/recipients/ann"),
    "import_recipients": mailed("/recipients/bulk", {"user_id": "bob", "email": "bob@example.org"}),
    "put_template": mailed("/templates/hello", {"email": {"subject": "Hi", "text": "Hi"}}),
    "delete_template": mailed("/templates/hello"),
    "preview_template": mailed("/templates/hello/preview"),
    "create_notification": mailed("/notifications", LATER),
    "create_notifications": mailed("/notifications/bulk", LATER),
    "cancel_notification": mailed("/notifications/{}/cancel", None, MESSAGE),
    "reschedule_notification": mailed(
        "/notifications/{}/reschedule", {"send_at": "2099-03-03T09:00:00Z"}, MESSAGE
    ),
    "resend_notification": doubtful("/notifications/{message}/resend"),
    "confirm_notification": doubtful("/notifications/{message}/confirm"),
    "set_notification_settings": mailed("/notifications/settings", {"timezone": "Europe/Berlin"}),
    "create_campaign": mailed("/campaigns", CAMPAIGN),
    "start_campaign": mailed("/campaigns/{}/start", None, MADE),
    "pause_campaign": mailed("/campaigns/{}/pause", {"reason": "a wrong price"}, MADE, STARTED),
    "resume_campaign": mailed(
        "/campaigns/{}/resume", None, MADE, STARTED, ("POST", "/campaigns/{}/pause", None)
    ),
    "cancel_campaign": mailed("/campaigns/{}/cancel", None, MADE),
    "check_campaign": mailed("/campaigns/{}/check", None, MADE),
    "resend_campaign": doubtful("/campaigns/{campaign}/resend"),
    "confirm_campaign": doubtful("/campaigns/{campaign}/confirm"),
    "put_segment": mailed("/segments/pro", SEGMENT),
    "delete_segment": mailed("/segments/pro", None, ("PUT", "/segments/pro", SEGMENT)),
    "create_notification_schedule": mailed("/notifications/schedules", RECURRING),
    "change_notification_schedule": mailed(
        "/notifications/schedules/{}", {"recurrence_rule": "0 10 * * mon"}, AGAIN
    ),
    "pause_notification_schedule": mailed("/notifications/schedules/{}/pause", None, AGAIN),
    "resume_notification_schedule": mailed(
        "/notifications/schedules/{}/resume",
        None,
        AGAIN,
        ("POST", "/notifications/schedules/{}/pause", None),
    ),
    "delete_notification_schedule": mailed("/notifications/schedules/{}", None, AGAIN),
    "put_digest": mailed("/digests/week", DIGEST),
    "delete_digest": mailed("/digests/week", None, ("PUT", "/digests/week", DIGEST)),
    "add_digest_event": mailed(
        "/digests/week/events", {"user_id": "ann", "data": {"n": 1}}, ("PUT", "/digests/week", DIGEST)
    ),
    "put_sequence": mailed("/sequences/steps", SEQUENCE),
    "delete_sequence": mailed("/sequences/steps", None, ENTERED[0]),
    "enter_sequence": mailed("/sequences/steps/members", {"user_id": "ann"}, ENTERED[0]),
    "leave_sequence": mailed("/sequences/steps/members/ann", None, *ENTERED),
    "note_recipient_event": mailed("/notifications/events", {"user_id": "ann", "event": "bought"}, *ENTERED),
    "put_entity": plain("/content/entities/post/1", {"body": {"title": "Spring"}}),
}
# What is not a change by people.
NOT_AUDITED = {
    "end_session": "needs a cookie: see the sign-in below",
    "end_sessions": "needs a session: see the sign-in below",
    "end_one_session": "needs a session: see the sign-in below",
    "complete_run": "the report of a run, kept in its history",
    "fail_run": "the report of a run, kept in its history",
    "run_heartbeat": "a run goes on",
    "join_worker": "the life of a node: sexton cluster shows it",
    "beat_worker": "the life of a node: sexton cluster shows it",
    "leave_worker": "the life of a node: sexton cluster shows it",
    "claim_runs": "a run begins: kept in its history",
    "report_runs": "the report of runs, kept in their history",
}
# Not walked yet: a new operation belongs into CASES, not here.
WITHOUT_A_CASE = (
    "create_recipient_token",
    "delete_audience",
    "delete_provider",
    "delete_secret",
    "explain_schedule_text",
    "mark_recipient_inbox",
    "put_audience",
    "put_provider",
    "put_secret",
    "release_suppression",
    "repeat_run",
    "suppress",
    "take_provider_report",
    "test_provider",
    "try_template",
    "unsubscribe_by_link",
)
CHANGE_NOTHING = {"check_campaign", "preview_spec", "preview_template"}
CHANGING = [one for one in operations() if one.method != "GET"]


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


def test_every_operation_that_is_not_a_read_has_a_case() -> None:
    """A new operation says what it writes to the audit: with a case here, or a reason why not."""
    assert sorted(one.name for one in CHANGING) == sorted([*CASES, *NOT_AUDITED, *WITHOUT_A_CASE])


@pytest.mark.parametrize("one", [each for each in CHANGING if each.name in CASES], ids=lambda one: one.name)
async def test_every_change_is_in_the_audit(api: Api, store: Store, one: Any) -> None:
    path, body = await CASES[one.name](api, store)
    before, told = await tables(store), len(await entries(store))
    headers = {"X-Request-Id": "walk-1", "Sexton-Reason": "the walk"}
    reply = await api(one.method, path, body, headers=headers)
    assert reply.status < 300, reply.content
    after = await tables(store)
    changed = {name for name in after if after[name] != before[name]}
    new = (await entries(store))[told:]
    assert bool(changed) == (one.name not in CHANGE_NOTHING)
    assert bool(new) == bool(changed), f"{one.name} changed {changed}"
    for entry in new:
        assert entry["request_id"] == "walk-1"
        assert entry["actor"].startswith("user:")
        assert (entry["face"], entry["address"]) == ("api", "127.0.0.1")
        assert entry["reason"] == (body or {}).get("reason", "the walk")


async def test_a_request_that_is_refused_writes_nothing(api: Api, store: Store) -> None:
    await api("POST", "/jobs", HOURLY)
    told = len(await entries(store))
    assert (await api("POST", "/jobs", HOURLY)).status == 409
    assert (await api("PATCH", "/jobs/hourly", {"max_retries": -1})).status == 422
    assert (await api("DELETE", "/jobs/nothing")).status == 404
    assert len(await entries(store)) == told


async def test_a_repeated_request_is_one_change(api: Api, store: Store) -> None:
    for _ in range(2):
        await api("POST", "/jobs", HOURLY, headers={"Idempotency-Key": "k"})
    assert [each["action"] for each in await entries(store)] == ["job.created"]


# Requests and reasons.


async def test_a_request_id_is_taken_or_made_and_answered(api: Api) -> None:
    given = await api("GET", "/jobs", headers={"X-Request-Id": "abc-1.2:3/4+5=6@7"})
    assert given.headers["X-Request-Id"] == "abc-1.2:3/4+5=6@7"
    made = {(await api("GET", "/jobs")).headers["X-Request-Id"] for _ in range(2)}
    assert len(made) == 2
    for bad in ("", "x" * 129, "a b", "é", '"><script>'):
        reply = await api("GET", "/jobs", headers={"X-Request-Id": bad})
        assert re.fullmatch(r"[0-9a-f-]{36}", reply.headers["X-Request-Id"]), bad


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/jobs/nothing", None),
        ("GET", "/nowhere", None),
        ("DELETE", "/jobs", None),
        ("POST", "/jobs", {"nme": 1}),
        ("POST", "/jobs/bulk", {"nme": 1}),
        ("GET", "/jobs?limit=x", None),
    ],
)
async def test_every_problem_names_its_request(api: Api, method: str, path: str, body: Any) -> None:
    reply = await api(method, path, body, headers={"X-Request-Id": "mine"})
    assert reply.status >= 400
    assert (reply.json()["request_id"], reply.headers["X-Request-Id"]) == ("mine", "mine")


async def test_what_a_request_logs_names_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(UtcFormatter("%(levelname)s %(message)s").format(record))

    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("sexton.jobs.create.insert", fail)
    handler = Kept()
    logging.getLogger("sexton.api").addHandler(handler)
    try:
        reply = await api("POST", "/jobs", HOURLY, headers={"X-Request-Id": "mine"})
    finally:
        logging.getLogger("sexton.api").removeHandler(handler)
    assert (reply.status, reply.json()["request_id"]) == (500, "mine")
    assert lines[0].splitlines()[0] == "ERROR POST /api/v1/jobs failed [request mine]"


async def test_a_reason_may_be_in_any_language(api: Api, store: Store) -> None:
    header = "M%C3%BCller sagt%2C es eilt"
    await api("POST", "/jobs", HOURLY, headers={"Sexton-Reason": header})
    assert (await entries(store))[0]["reason"] == "Müller sagt, es eilt"


@pytest.mark.parametrize(
    ("header", "code"), [("x" * 1001, "too_long"), ("a%00b", "nul_character"), ("%FF", "bad_text")]
)
async def test_a_bad_reason_is_refused(api: Api, header: str, code: str) -> None:
    reply = await api("POST", "/jobs", HOURLY, headers={"Sexton-Reason": header})
    assert (reply.status, reply.code, reply.json()["field"]) == (422, code, "Sexton-Reason")
    assert (await api("GET", "/jobs")).json() == []


async def test_the_command_line_is_told_apart(api: Api, store: Store) -> None:
    await api("POST", "/jobs", HOURLY, headers={"User-Agent": "sexton/1.2"})
    assert (await entries(store))[0]["face"] == "cli"


async def test_people_who_sign_in_and_out(api: Api, store: Store) -> None:
    browser = await signed_in(api)
    assert (await browser("POST", "/jobs", HOURLY)).status == 201
    assert (await browser("DELETE", "/session")).status == 204
    others = [await signed_in(api) for _ in range(2)]
    assert (await others[0]("DELETE", "/sessions")).json() == {"ended": 2}
    found = await entries(store)
    assert [each["action"] for each in found] == [
        "sign_in_link.created", "session.opened", "job.created", "session.ended",
        "sign_in_link.created", "session.opened", "sign_in_link.created", "session.opened",
        "session.ended", "session.ended",
    ]  # fmt: skip
    assert {each["actor"] for each in found} == {f"user:{own_name()}"}
    assert [each["face"] for each in found[:4]] == ["api", "console", "console", "console"]
    assert json.loads(found[1]["after"])["method"] == "link"
    assert found[1]["object_id"] == found[3]["object_id"]


# Reading it.


async def test_lists_are_paged_and_filtered(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    for number in range(5):
        await api("PATCH", "/jobs/hourly", {"max_retries": number}, headers={"X-Request-Id": f"r{number}"})
    first = await api("GET", "/audit?action=job.edited&limit=2")
    assert [each["after"] for each in first.json()] == [{"max_retries": 4}, {"max_retries": 3}]
    assert first.next is not None
    second = await api("GET", first.next)
    assert [each["after"] for each in second.json()] == [{"max_retries": 2}, {"max_retries": 1}]
    [one] = (await api("GET", "/audit?request_id=r3")).json()
    assert (one["action"], one["object_name"], one["sequence"]) == ("job.edited", "hourly", None)
    assert len((await api("GET", "/audit?job=hourly")).json()) == 6
    assert len((await api("GET", "/audit?object=hourly&action=job.c*")).json()) == 1
    assert (await api("GET", "/audit?since=2026-01-01T00:00:00")).code == "naive_time"
    assert (await api("GET", "/audit?job=nothing")).code == "job_not_found"
    assert (await api("GET", "/audit?cursor=x")).code == "bad_cursor"


async def test_the_changes_of_a_job_that_is_gone_are_found_by_its_id(api: Api, store: Store) -> None:
    job = (await api("POST", "/jobs", HOURLY)).json()["job_id"]
    await store.execute("delete from sexton.jobs")
    assert [each["action"] for each in (await api("GET", f"/audit?job={job}")).json()] == ["job.created"]


async def test_a_job_shows_its_changes(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    await api("POST", "/jobs/hourly/pause", {"reason": "mail server moves"})
    await api("POST", "/jobs", {**HOURLY, "name": "other"})
    found = (await api("GET", "/jobs/hourly/changes?limit=10")).json()
    assert [each["action"] for each in found] == ["job.paused", "job.created"]
    assert found[0]["reason"] == "mail server moves"
    assert "address" not in found[0]
    await api("DELETE", "/jobs/hourly")
    page = await api("GET", "/jobs/hourly/changes?limit=2")
    assert [each["action"] for each in page.json()] == ["job.deleted", "job.paused"]
    assert page.next is not None
    assert [each["action"] for each in (await api("GET", page.next)).json()] == ["job.created"]
    assert (await api("GET", "/jobs/nothing/changes")).code == "job_not_found"


async def test_an_export_is_sent_as_lines_or_as_a_table(api: Api, database: Database) -> None:
    await api("POST", "/jobs", HOURLY)
    await api("POST", "/jobs/hourly/pause")
    await seal(Context(database))
    lines = await api("GET", "/audit/export?every=true")
    assert lines.headers["Content-Type"] == "application/x-ndjson"
    found = [json.loads(line) for line in lines.content.splitlines()]
    assert [(each["sequence"], each["action"]) for each in found] == [(1, "job.created"), (2, "job.paused")]
    assert found[1]["previous"] == found[0]["hash"]
    table = await api("GET", "/audit/export?format=csv&action=job.paused")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert table.headers["Content-Disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(table.content.decode())))
    assert [row["object_name"] for row in rows] == ["hourly"]
    head = await api("HEAD", "/audit/export")
    assert (head.status, head.content) == (200, b"")
    assert (await api("GET", "/audit/export?format=xml")).status == 422


# Who sees what.


@pytest_asyncio.fixture
async def guarded(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings(api_keys=CONFIGURED)) as client:
        yield client


async def test_a_namespace_sees_its_own_and_not_what_all_share(guarded: Api, store: Store) -> None:
    async def key(role: str, namespace: str) -> dict[str, str]:
        wish = {"name": f"{role}-{namespace}", "role": role, "namespace": namespace}
        made = await guarded("POST", "/keys", wish, headers=ADMIN)
        return {"Authorization": f"Bearer {made.json()['key']}"}

    async def actions(reply: Reply) -> set[str]:
        assert reply.status == 200, reply.content
        return {each["action"] for each in reply.json()}

    await guarded("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
    ours, theirs = await key("editor", "default"), await key("editor", "billing")
    everywhere, viewer = await key("admin", "*"), await key("viewer", "default")
    await guarded("POST", "/jobs", HOURLY, headers=theirs)
    await store.node()
    assert (await guarded("POST", "/nodes/test/drain", headers=everywhere)).status == 200

    assert await actions(await guarded("GET", "/audit", headers=theirs)) == {"job.created", "key.created"}
    assert await actions(await guarded("GET", "/audit", headers=ours)) == {"key.created"}
    seen = {"namespace.created", "node.drained", "key.created"}
    assert await actions(await guarded("GET", "/audit", headers=everywhere)) == seen
    every = await guarded("GET", "/audit?every=true", headers=everywhere)
    assert await actions(every) == {*seen, "job.created"}
    assert (await guarded("GET", "/audit?every=true", headers=ours)).code == "forbidden"
    assert (await guarded("GET", "/audit/export?every=true", headers=ours)).code == "forbidden"
    assert (await guarded("GET", "/audit", headers=viewer)).code == "forbidden"
    names = {each["actor"] for each in every.json()}
    assert names == {"configured key", "key:editor-billing", "key:admin-*"}
    # A viewer sees what became of a job that it may see.
    await guarded("POST", "/jobs", HOURLY, headers=ours)
    [change] = (await guarded("GET", "/jobs/hourly/changes", headers=viewer)).json()
    assert change["actor"] == "key:editor-default"


async def test_no_key_is_in_the_audit(guarded: Api, store: Store) -> None:
    made = await guarded("POST", "/keys", {"name": "deploy", "role": "editor"}, headers=ADMIN)
    new = await guarded("POST", f"/keys/{made.json()['key_id']}/rotate", headers=ADMIN)
    texts = [str(each) for each in await entries(store)]
    assert [each["action"] for each in await entries(store)] == ["key.created", "key.rotated", "key.created"]
    for key in (made.json()["key"], new.json()["key"], CONFIGURED):
        assert not any(key in text for text in texts)


async def test_an_export_stops_when_its_key_is_revoked(guarded: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made = (await guarded("POST", "/keys", {"name": "leaver", "role": "admin"}, headers=ADMIN)).json()
    [entry] = await _all_parts(guarded)

    async def exported(*given: Any, **more: Any) -> AsyncIterator[list[AuditView]]:
        yield [entry]
        await guarded("DELETE", f"/keys/{made['key_id']}", headers=ADMIN)
        yield [entry]

    monkeypatch.setattr("sexton.security.audit.exported", exported)
    monkeypatch.setattr("sexton.api.operation.CHECK_SECONDS", 0.0)
    with pytest.raises(aiohttp.ClientPayloadError):
        await guarded("GET", "/audit/export", headers={"Authorization": f"Bearer {made['key']}"})
    whole = await guarded("GET", "/audit/export", headers=ADMIN)
    assert len(whole.content.splitlines()) == 2


async def _all_parts(api: Api) -> list[AuditView]:
    found = await api("GET", "/audit?limit=1", headers=ADMIN)
    return msgspec.convert(found.json(), list[AuditView])
