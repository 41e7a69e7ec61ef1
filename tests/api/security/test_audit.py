"""Every change over HTTP is in the audit, with who, from where, on which request and why."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.config import Settings
from sexton.engine.logs import UtcFormatter
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.access import own_name
from sexton.security.audit import AuditView
from sexton.security.audit_chain import seal
from tests.api.conftest import Api, Reply, serve
from tests.api.security.test_sessions import signed_in
from tests.api.world import SECRET_KEY, World
from tests.changes import entries, tables
from tests.seeding import Store

HOURLY = {"name": "hourly", "schedule": "0 * * * *", "target": {"handler": "work"}}
CONFIGURED = "a-key-of-the-configuration"
ADMIN = {"Authorization": f"Bearer {CONFIGURED}"}

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
    "take_provider_report": "the report of a message, kept in its events",
    "mark_recipient_inbox": "a recipient reads her own, kept in the events of the message",
}
# Operations that read, or only try something out.
CHANGE_NOTHING = {
    "preview_spec",
    "explain_schedule_text",
    "preview_template",
    "check_campaign",
    "preview_campaign",
}
CHANGING = [one for one in operations() if one.method != "GET"]
AUDITED = [one for one in CHANGING if one.name not in NOT_AUDITED]
# What is known of a secret or a link is not told.
NO_STATE = {"secret.deleted", "sign_in_link.created"}
# Who has changed something, where that is not the owner of the server.
ACTORS = {"unsubscribe_by_link": "the recipient"}


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest_asyncio.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings(secret_key=SECRET_KEY)) as client:
        yield client


def test_what_is_not_audited_is_there() -> None:
    """A new operation is audited, unless it says why not."""
    assert {*NOT_AUDITED, *CHANGE_NOTHING} <= {one.name for one in CHANGING}


@pytest.mark.parametrize("one", AUDITED, ids=lambda one: one.name)
async def test_every_change_is_in_the_audit(api: Api, store: Store, one: Operation) -> None:
    world = World(api, store)
    request = await world.request(one)
    before, told = await tables(store), len(await entries(store))
    headers = {"X-Request-Id": "walk-1", "Sexton-Reason": "the walk"}
    reply = await world.send(one.name, request=request, **headers)
    assert reply.status < 300, reply.content
    after = await tables(store)
    changed = {name for name in after if after[name] != before[name]}
    new = (await entries(store))[told:]
    if one.name in CHANGE_NOTHING:
        assert (changed, new) == (set(), [])
    else:
        assert new, f"{one.name} changed {changed}"
    given = request.body.get("reason") if isinstance(request.body, dict) else None
    for entry in new:
        assert entry["request_id"] == "walk-1"
        assert entry["actor"] == ACTORS.get(one.name, f"user:{own_name()}")
        assert (entry["face"], entry["address"]) == ("api", "127.0.0.1")
        assert entry["reason"] in ("the walk", given) or entry["reason"].startswith(
            "the sequence was stopped"
        )
        if entry["action"] not in NO_STATE:
            assert entry["object_id"] or entry["jobs"] or entry["detail"], entry
            assert entry["before"] or entry["after"] or entry["detail"], entry


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
    assert (first.headers["Sexton-Total"], second.headers.get("Sexton-Total")) == ("5", None)
    [oldest] = (await api("GET", "/audit?sort=at&limit=1")).json()
    assert (oldest["action"], oldest["object_name"]) == ("job.created", "hourly")
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
    array = await api("GET", "/audit/export?format=json")
    assert array.headers["Content-Type"] == "application/json"
    assert array.json() == found
    assert (await api("GET", "/audit/export?format=json&action=nothing")).json() == []
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
