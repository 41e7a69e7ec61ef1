"""Jobs over HTTP."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.api import examples
from sexton.model import decode_id
from sexton.postgres.database import Database
from tests.api.conftest import Api
from tests.runs.rows import make_ended

pytestmark = pytest.mark.asyncio

HOURLY = {"name": "hourly", "schedule": "0 * * * *"}


async def test_the_example_of_the_documentation_makes_a_job(api: Api) -> None:
    reply = await api("POST", "/jobs", examples.JOB_REQUEST)
    job = reply.json()
    assert reply.status == 201
    assert job["job_id"].startswith("j_")
    assert job["next_run_at"].endswith(":00:00Z")
    assert job["next_run_local"][10:] in ("T09:00:00-04:00", "T09:00:00-05:00")
    assert reply.headers["Location"] == f"/api/v1/jobs/{job['job_id']}"
    assert reply.headers["ETag"] == '"1"'
    assert job["warnings"] == [
        "no worker is running: runs stay pending until one with the handler send-weekly-report is"
    ]
    for name, value in examples.JOB_REQUEST.items():
        assert job[name] == value
    assert set(examples.JOB) <= set(job)
    assert (await api("GET", reply.headers["Location"])).json()["name"] == "send-weekly-report"
    runs = await api("GET", f"/jobs/{job['job_id']}/runs?limit=20")
    assert (runs.status, runs.json()) == (200, [])
    deleted = await api("DELETE", f"/jobs/{job['job_id']}")
    assert (deleted.status, deleted.content) == (204, b"")


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"schedule": "every 1m"}, 422, "missing_field", "name"),
        ({"name": "a", "cron_expr": "* * * * *"}, 422, "unknown_field", "cron_expr"),
        ({"name": "a", "schedule": "61 * * * *"}, 422, None, "schedule"),
        ({"name": "a", "schedule": "every 1m", "timezone": "Mars/Base"}, 422, None, "timezone"),
        ({"name": "a", "schedule": "every 1m", "max_retries": -1}, 422, "out_of_range", "max_retries"),
        ({"name": "a", "schedule": "2001-01-01T00:00:00Z"}, 422, "in_the_past", "schedule"),
        (
            {"name": "a", "schedule": "every 1m", "payload": "x" * 300_000},
            413,
            "payload_too_large",
            "payload",
        ),
        ({"name": "a", "schedule": "every 1m", "payload": "\0"}, 422, "nul_character", "payload"),
        ([1], 422, "bad_type", "body"),
    ],
)
async def test_bad_input_is_refused_with_its_field(
    api: Api, body: Any, status: int, code: str | None, field: str
) -> None:
    reply = await api("POST", "/jobs", body)
    assert reply.status == status
    assert reply.json()["field"] == field
    assert reply.json()["hint"]
    assert code is None or reply.code == code


async def test_a_bad_cron_line_has_its_position(api: Api) -> None:
    problem = (await api("POST", "/jobs", {"name": "a", "schedule": "0 9 * * 9"})).json()
    assert problem["position"] == 8


async def test_what_is_not_json(api: Api) -> None:
    reply = await api("POST", "/jobs", data=b"{nope", headers={"Content-Type": "application/json"})
    assert (reply.status, reply.code) == (400, "bad_json")
    large = await api(
        "POST", "/jobs", data=io.BytesIO(b" " * 2_000_000), headers={"Content-Type": "application/json"}
    )
    assert (large.status, large.code) == (413, "body_too_large")


async def test_a_taken_name_names_the_other(api: Api) -> None:
    first = (await api("POST", "/jobs", HOURLY)).json()
    reply = await api("POST", "/jobs", HOURLY)
    assert (reply.status, reply.code) == (409, "name_taken")
    assert reply.json()["job_id"] == first["job_id"]


async def test_a_job_is_named_by_id_or_name(api: Api) -> None:
    job = (await api("POST", "/jobs", {**HOURLY, "name": "a b/ü"})).json()
    assert (await api("GET", "/jobs/a%20b%2F%C3%BC")).json()["job_id"] == job["job_id"]
    listed = await api("GET", "/jobs/a%20b%2F%C3%BC/occurrences?limit=1")
    assert listed.next is not None
    assert (await api("GET", listed.next)).json()[0]["scheduled_at"] > listed.json()[0]["scheduled_at"]
    other = (await api("POST", "/jobs", {**HOURLY, "name": "a b"})).json()
    assert (await api("GET", "/jobs/a%20b")).json()["job_id"] == other["job_id"]
    missing = await api("GET", "/jobs/nobody")
    assert (missing.status, missing.code) == (404, "job_not_found")


async def test_lists_are_filtered_and_paged(api: Api) -> None:
    for index in range(5):
        await api(
            "POST", "/jobs", {**HOURLY, "name": f"job-{index}", "labels": {"team": "a" if index % 2 else "b"}}
        )
    assert [job["name"] for job in (await api("GET", "/jobs?label=team%3Da")).json()] == ["job-1", "job-3"]
    seen: list[str] = []
    path: str | None = "/jobs?limit=2"
    while path:
        reply = await api("GET", path)
        seen += [job["name"] for job in reply.json()]
        path = reply.next
    assert seen == [f"job-{index}" for index in range(5)]
    assert [job["name"] for job in (await api("GET", "/jobs?name=job-4")).json()] == ["job-4"]


@pytest.mark.parametrize(
    ("path", "code", "field"),
    [
        ("/jobs?colour=red", "unknown_parameter", "colour"),
        ("/jobs?limit=0", "bad_value", "limit"),
        ("/jobs?limit=many", "bad_value", "limit"),
        ("/jobs?limit=1&limit=2", "duplicate_parameter", "limit"),
        ("/jobs?cursor=x", "bad_cursor", "cursor"),
        ("/jobs?status=asleep", "bad_value", "status"),
        ("/cluster?x=1", "unknown_parameter", "x"),
        ("/runs?status=asleep", "bad_value", "status"),
    ],
)
async def test_unknown_parameters_are_refused(api: Api, path: str, code: str, field: str) -> None:
    reply = await api("GET", path)
    assert (reply.status, reply.code, reply.json()["field"]) == (422, code, field)


@pytest.mark.parametrize(
    ("method", "path", "body", "hint"),
    [
        ("GET", "/jobs?limit=0", None, "give a whole number from 1 to 1,000"),
        ("GET", "/jobs?status=asleep", None, "use active, completed, deleted or paused"),
        ("GET", "/jobs?problem=maybe", None, "write true or false"),
        ("POST", "/jobs/x/pause", {"until": "later"}, "write for example 2026-06-08T13:00:00Z"),
        ("POST", "/dead/redrive", {"all": True, "rate": 0}, "give a number from 0.001 to 100,000"),
        ("POST", "/dead/redrive", [], "give an object"),
    ],
)
async def test_a_refusal_says_what_to_send_instead(
    api: Api, method: str, path: str, body: Any, hint: str
) -> None:
    assert (await api(method, path, body)).json()["hint"].startswith(hint)


async def test_brackets_without_end_are_refused(api: Api) -> None:
    for path, start in (("/jobs", b""), ("/jobs/x/run", b'{"payload": ')):
        headers = {"Content-Type": "application/json"}
        reply = await api("POST", path, data=start + b"[" * 100_000, headers=headers)
        assert (reply.status, reply.code) == (400, "bad_json")


async def test_a_body_that_breaks_off_after_a_wrong_field_is_refused(api: Api) -> None:
    headers = {"Content-Type": "application/json"}
    reply = await api("POST", "/jobs/x/pause", data=b'{"reason": 1, "until', headers=headers)
    assert (reply.status, reply.code) == (400, "bad_json")


async def test_an_edit_needs_the_revision_it_was_made_for(api: Api) -> None:
    job = (await api("POST", "/jobs", HOURLY)).json()
    path = f"/jobs/{job['job_id']}"
    first = await api("PATCH", path, {"schedule": "30 * * * *"}, headers={"If-Match": '"1"'})
    assert (first.status, first.headers["ETag"], first.json()["schedule"]) == (200, '"2"', "30 * * * *")
    late = await api("PATCH", path, {"schedule": "15 * * * *"}, headers={"If-Match": '"1"'})
    assert (late.status, late.code) == (412, "revision_conflict")
    wrong = await api("PATCH", path, {"schedule": "15 * * * *"}, headers={"If-Match": "seven"})
    assert (wrong.status, wrong.code) == (422, "bad_etag")
    assert (await api("PATCH", path, {"description": "any"})).status == 200


async def test_put_creates_then_replaces(api: Api) -> None:
    made = await api("PUT", "/jobs/by-name/report", {"schedule": "0 9 * * *", "description": "x"})
    assert made.status == 201
    replaced = await api("PUT", "/jobs/by-name/report", {"schedule": "0 10 * * *"})
    assert replaced.status == 200
    assert replaced.json()["job_id"] == made.json()["job_id"]
    assert replaced.json()["description"] is None
    differs = await api("PUT", "/jobs/by-name/report", {"name": "other", "schedule": "0 9 * * *"})
    assert (differs.status, differs.code) == (422, "name_differs")


async def test_pause_and_resume(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    paused = await api("POST", "/jobs/hourly/pause", {"reason": "moving"})
    assert (paused.json()["status"], paused.json()["paused_reason"]) == ("paused", "moving")
    assert paused.json()["next_run_at"] is None
    resumed = await api("POST", "/jobs/hourly/resume")
    assert (resumed.status, resumed.json()["status"]) == (200, "active")
    assert (await api("POST", "/jobs/hourly/pause")).status == 200
    assert (await api("POST", "/jobs/hourly/pause", {"why": "x"})).code == "unknown_field"


async def test_run_now_and_cancel(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    made = await api("POST", "/jobs/hourly/run", {"payload": {"n": 2}})
    assert made.status == 201
    run = (await api("GET", made.headers["Location"])).json()
    assert (run["trigger"], run["payload"], run["status"]) == ("manual", {"n": 2}, "pending")
    assert run["waiting_for"] == "no worker is running"
    assert ":manual:" in run["idempotency_key"]
    listed = (await api("GET", "/jobs/hourly/runs")).json()
    assert [each["run_id"] for each in listed] == [made.json()["run_id"]]
    assert (await api("GET", "/runs?job=hourly&status=pending")).json() == listed
    cancelled = await api("POST", f"/runs/{run['run_id']}/cancel", {"reason": "no"})
    assert (cancelled.status, cancelled.json()["outcome"]) == (202, "cancelled")
    again = await api("POST", f"/runs/{run['run_id']}/cancel")
    assert (again.status, again.code) == (409, "run_ended")
    assert (await api("GET", f"/runs/{run['run_id']}")).json()["status"] == "cancelled"


async def test_backfill_shows_first_what_it_would_do(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    end = datetime.now(UTC).replace(minute=30, second=0, microsecond=0) - timedelta(hours=2)
    wish = {"start": (end - timedelta(hours=3)).isoformat(), "end": end.isoformat(), "dry_run": True}
    dry = await api("POST", "/jobs/hourly/backfill", wish)
    assert (dry.status, len(dry.json()["scheduled_at"]), dry.json()["run_ids"]) == (200, 3, [])
    done = await api("POST", "/jobs/hourly/backfill", {**wish, "dry_run": False})
    assert len(done.json()["run_ids"]) == 3
    naive = await api("POST", "/jobs/hourly/backfill", {**wish, "start": "2026-01-01T00:00:00"})
    assert (naive.status, naive.code) == (422, "naive_time")


async def test_previews(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    assert len((await api("GET", "/jobs/hourly/preview?count=3")).json()["occurrences"]) == 3
    body = {"schedule": "0 9 * * 1", "timezone": "America/New_York"}
    unsaved = (await api("POST", "/preview?count=2", body)).json()
    assert unsaved["timezone"] == "America/New_York"
    assert [each["local"][11:16] for each in unsaved["occurrences"]] == ["09:00", "09:00"]


async def test_occurrences_are_paged_in_order(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    path: str | None = "/jobs/hourly/occurrences?limit=10"
    times: list[str] = []
    while path:
        reply = await api("GET", path)
        assert reply.status == 200
        times += [each["scheduled_at"] for each in reply.json()]
        assert all(set(each) == {"scheduled_at", "disposition", "reason", "run_id"} for each in reply.json())
        path = reply.next
    assert len(times) == len(set(times)) == 24
    assert times == sorted(times)
    swapped = "/jobs/hourly/occurrences?start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z"
    assert (await api("GET", swapped)).code == "bad_range"


async def test_why(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    lines = (await api("GET", "/jobs/hourly/why?ahead=2")).json()
    assert [line["disposition"] for line in lines] == ["upcoming"] * 2
    assert all(line["text"].startswith("due in ") for line in lines)


async def test_the_history_outlives_its_job(api: Api, database: Database) -> None:
    job = (await api("POST", "/jobs", HOURLY)).json()
    number = decode_id("j", job["job_id"])
    assert number is not None
    await make_ended(database, number, 5, datetime.now(UTC) - timedelta(hours=1))
    await api("DELETE", "/jobs/hourly")
    assert [run["run_id"] for run in (await api("GET", f"/jobs/{job['job_id']}/runs")).json()] == ["r_5"]
    assert (await api("GET", "/jobs/j_zzz/runs")).code == "job_not_found"


@pytest.mark.parametrize("path", ["/nowhere", "/api/v2/jobs"])
async def test_an_unknown_path_is_a_problem_too(api: Api, path: str) -> None:
    reply = await api("GET", path)
    assert (reply.status, reply.code) == (404, "no_such_path")
    wrong = await api("DELETE", "/cluster")
    assert (wrong.status, wrong.code) == (405, "wrong_method")


async def test_the_next_run_is_moved(api: Api) -> None:
    made = (await api("POST", "/jobs", HOURLY)).json()
    moved = await api("POST", "/jobs/hourly/reschedule", {"at": "in 3h"}, headers={"If-Match": '"1"'})
    job = moved.json()
    assert (moved.status, moved.headers["ETag"], job["moved_from"]) == (200, '"2"', made["next_run_at"])
    at = datetime.fromisoformat(job["next_run_at"])
    assert timedelta(hours=2, minutes=59) < at - datetime.now(UTC) <= timedelta(hours=3, seconds=1)
    lines = (await api("GET", "/jobs/hourly/why?past=0&ahead=9")).json()
    assert [each["reason"] for each in lines[:3]] == ["rescheduled"] * 3
    upcoming = [each["scheduled_at"] for each in lines if each["disposition"] == "upcoming"]
    assert upcoming[:1] == [job["next_run_at"]]
    stale = await api("POST", "/jobs/hourly/reschedule", {"at": "in 1h"}, headers={"If-Match": '"1"'})
    assert (stale.status, stale.code) == (412, "revision_conflict")
    for body, field in (({"at": "soon"}, "at"), ({}, "at"), ({"at": 5}, "at"), ({"when": "in 1h"}, "when")):
        refused = await api("POST", "/jobs/hourly/reschedule", body)
        assert (refused.status, refused.json()["field"]) == (422, field)
    assert (await api("POST", "/jobs/nothing/reschedule", {"at": "in 1h"})).status == 404
