"""The example data is what it says: a past that the schedules really had, once, in an empty directory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton.cli.demo import example_data
from sexton.cli.demo.example_app import app
from sexton.cli.demo.example_data import EDITS, LATER, USUAL, fill, make_example
from sexton.content.calendar.calendar import list_calendar
from sexton.content.releases.view import list_releases
from sexton.engine.overview import OverviewReader
from sexton.jobs.change import find
from sexton.jobs.create import create
from sexton.jobs.read import list_jobs
from sexton.jobs.spec import JobSpec
from sexton.notifications.campaigns.view import list_campaigns
from sexton.notifications.spec import PreviewRequest
from sexton.notifications.templates.preview import preview
from sexton.notifications.templates.template import list_templates
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded
from sexton.runs.count import count_runs
from sexton.runs.dead_letters import list_groups
from sexton.runs.filter import RunFilter
from sexton.runs.read import get_run, list_runs, run_number
from sexton.security.audit import list_changes
from tests.seeding import Store

READERS = 300
SHARDS = 4
SKIPPED = RunFilter(statuses=("skipped",), skipped=True)


async def test_a_newcomer_sees_a_system_that_has_been_at_work(database: Database) -> None:
    context = Context(database, actor="demo")
    made = await fill(context, readers=READERS)
    assert made == len(USUAL) + 1 + LATER
    shown = await OverviewReader().read(context, sees_cluster=False)
    assert shown.hour.succeeded > 100
    assert 5 < shown.hour.dead == shown.dead <= 13
    assert shown.day.succeeded > 1000
    assert (shown.jobs["paused"], shown.first_job_fired) == (1, True)
    group, *others = await list_groups(context)
    assert [each.reason for each in others] == ["permanent"]
    assert group.letters + others[0].letters == shown.dead
    letter = await get_run(context, run_number(group.latest_run_id))
    assert [each.outcome for each in letter.attempts] == ["failed", "failed"]
    now = shown.at
    planned = (await list_calendar(context, now, now + timedelta(days=30))).items
    assert len(planned) >= 10
    assert {each.status for each in planned} == {"pending"}
    assert all(each.title for each in planned if each.entity_id != "app-download")
    past = (await list_calendar(context, now - timedelta(days=8), now)).items
    assert {each.status for each in past} == {"done", "failed", "skipped"}
    releases = (await list_releases(context)).items
    assert [(each.needs_approval, bool(each.findings)) for each in releases] == [(True, True), (False, True)]
    assert await fill(context) == 0


async def interrupt(database: Database, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Make the example up to a step of it."""

    async def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(example_data, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            await make_example(database, shards=SHARDS, readers=READERS)


async def test_what_an_interrupted_start_has_left_is_made_anew(
    own_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(own_database_url, size=5)
    await interrupt(database, monkeypatch, "fill_notifications")
    context = Context(database, actor="demo")
    assert (await list_jobs(context)).items
    assert await make_example(database, shards=SHARDS, readers=READERS) == len(USUAL) + 1 + LATER
    assert (await list_campaigns(context, status=None, cursor=None, limit=10)).items
    assert await make_example(database, shards=SHARDS, readers=READERS) == 0
    await database.close()


async def test_what_people_have_made_beside_an_interrupted_demo_is_kept(
    own_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(own_database_url, size=5)
    await interrupt(database, monkeypatch, "write_past")
    ann = Context(database, actor="user:ann")
    await create(ann, JobSpec(name="mine", schedule="@daily", target={"handler": "work"}))
    assert await make_example(database, shards=SHARDS) == 0
    assert "mine" in {job.name for job in (await list_jobs(ann)).items}
    await database.close()


async def test_the_runs_of_all_days_are_counted(database: Database) -> None:
    context = Context(database, actor="demo")
    await fill(context, readers=READERS)
    while not (await count_recorded(context, timedelta(hours=6)))[1]:
        pass
    kept = await Store(database).value("select count(*) from sexton.history where status = 'success'")
    assert (await count_runs(context, RunFilter())).success == kept


async def test_a_campaign_goes_out_and_others_are_planned(database: Database) -> None:
    context = Context(database, actor="demo")
    await fill(context, readers=READERS)
    page = await list_campaigns(context, status=None, cursor=None, limit=10)
    assert {each.name: each.status.value for each in page.items} == {
        "autumn-sale": "scheduled",
        "autumn-sale-preview": "scheduled",
        "app-launch": "scheduled",
        "evening-reading": "scheduled",
        "autumn-sale-last-call": "scheduled",
        "winter-sale": "draft",
    }
    assert {each.template_id for each in (await list_templates(context)).items} == {
        "autumn-sale",
        "parcel-arrives",
    }
    for template in ("autumn-sale", "parcel-arrives"):
        for locale in ("de", "en"):
            shown = await preview(context, template, PreviewRequest(locale=locale, timezone="Europe/Berlin"))
            assert all(text.strip() for each in shown for text in each.parts.values())


async def test_jobs_were_changed_by_people_for_a_reason(database: Database) -> None:
    context = Context(database, actor="demo")
    await fill(context, readers=READERS)
    for name in {edited for edited, *_ in EDITS}:
        changes = (await list_changes(context, await find(context, name))).items
        made = [(actor, reason) for edited, actor, reason, _ in EDITS if edited == name]
        assert [(each.actor, each.reason) for each in changes if each.action == "job.edited"] == made[::-1]


async def test_each_run_belongs_to_an_occurrence_and_each_job_to_a_handler(database: Database) -> None:
    context = Context(database, actor="demo")
    await fill(context, readers=READERS)
    handlers = set(app.handlers)
    for job in (await list_jobs(context, limit=100)).items:
        assert "handler" not in (job.target or {}) or job.target["handler"] in handlers  # type: ignore[index]
    runs = (await list_runs(context, RunFilter(skipped=True), limit=1000)).items
    skipped = {run.reason for run in (await list_runs(context, SKIPPED, limit=1000)).items}
    assert {"overlap", "paused", "coalesced"} <= skipped
    occurrences = [(run.job_id, run.scheduled_at) for run in runs]
    assert len(occurrences) == len(set(occurrences))
    now = await Store(database).value("select now()")
    assert all(run.scheduled_at < now for run in runs)
