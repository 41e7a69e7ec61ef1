"""Campaigns on a manual clock: each message at its local time, once, with rate, window, canary, pause and
guard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from sexton.engine import crash
from sexton.errors import Conflict, InvalidField
from sexton.jobs import read as jobs
from sexton.jobs.create import create
from sexton.jobs.items import act_on_items
from sexton.jobs.spec import JobSpec
from sexton.jobs.view import JobView
from sexton.model import decode_id
from sexton.notifications.bulk import WORKS, message_choice
from sexton.notifications.campaigns import conducting, expansion
from sexton.notifications.campaigns.campaign import cancel, create_campaign, pause, resume, start
from sexton.notifications.campaigns.spec import (
    AudienceSpec,
    CampaignSpec,
    CampaignStatus,
    DailyWindow,
    OnDoubt,
    WhenPast,
)
from sexton.notifications.campaigns.view import CampaignView, get_campaign
from sexton.notifications.channels.base import Accepted, Failed, Outgoing, Rejected, SendResult
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.channels.table import provider_kinds
from sexton.notifications.filter import MessageFilter
from sexton.notifications.message import cancel_message
from sexton.notifications.read import list_messages
from sexton.notifications.sending.backlog import read_backlog, workers_needed
from sexton.postgres.transaction import Context
from sexton.runs.trigger import run_now
from sexton.runs.why import why
from sexton.security.quota_spec import QuotaChanges
from sexton.security.quotas import QuotaExceeded, change_quotas
from sexton.testing import Engine
from tests.notifications.crowd import ZONES, add_recipients
from tests.notifications.mailbox import Mailbox

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    made = Mailbox()
    monkeypatch.setitem(provider_kinds(), "mailbox", made.provider())
    monkeypatch.setitem(provider_kinds(), "forgetful", made.provider(deduplicates=False))
    return made


def spec(**fields: Any) -> CampaignSpec:
    given: dict[str, Any] = {
        "name": "spring", "template_id": "hello", "audience": AudienceSpec(everyone=True),
    }  # fmt: skip
    return CampaignSpec(**{**given, **fields})


async def fetch(context: Context, sql: str, *arguments: Any) -> list[asyncpg.Record]:
    async with context.database.connection() as connection:
        return list(await connection.fetch(context.database.sql(sql), *arguments))


async def sent_at(context: Context) -> dict[str, datetime]:
    rows = await fetch(context, "select user_id, sent_at from sexton.messages where sent_at is not null")
    return {row["user_id"]: row["sent_at"] for row in rows}


async def accounted(context: Context, job: JobView) -> list[tuple[str, str]]:
    number = decode_id("j", job.job_id)
    assert number is not None
    return [(each.disposition, each.text) for each in await why(context, number)]


async def go(context: Context, **fields: Any) -> CampaignView:
    """Make a campaign and start it at once."""
    made = await create_campaign(context, spec(**fields))
    return await start(context, made.campaign_id)


async def test_a_campaign_without_a_time_goes_when_it_is_started(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 50)
    made = await create_campaign(context, spec())
    assert made.status is CampaignStatus.DRAFT
    await engine.advance(hours=1)
    assert mailbox.got == []
    await start(context, made.campaign_id)
    await engine.advance(seconds=10)
    done = await get_campaign(context, made.campaign_id)
    assert (done.status, done.counts.sent, done.counts.left) == (CampaignStatus.DONE, 50, 0)
    assert sorted(mailbox.users) == sorted(f"u{n}" for n in range(1, 51))
    assert mailbox.got[0].parts["subject"] == "Hello"
    assert len({message.key for message in mailbox.got}) == 50


async def test_each_zone_at_its_own_time(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 5 * len(ZONES), zones=ZONES)
    made = await create_campaign(context, spec(local_time="2027-03-03 08:00"))
    assert made.status is CampaignStatus.SCHEDULED
    await engine.advance(to=datetime(2027, 3, 2, 17, 55, tzinfo=UTC))
    prepared = await get_campaign(context, made.campaign_id)
    assert (prepared.status, prepared.counts.total) == (CampaignStatus.PREPARED, 65)
    assert mailbox.got == []
    assert prepared.check is not None
    assert prepared.check.zones[0].timezone == "Pacific/Kiritimati"
    await engine.advance(to=datetime(2027, 3, 3, 21, tzinfo=UTC))
    rows = await fetch(context, "select user_id, timezone, sent_at from sexton.messages")
    for row in rows:
        wall = row["sent_at"].astimezone(ZoneInfo(row["timezone"])).replace(tzinfo=None)
        assert timedelta(0) <= wall - datetime(2027, 3, 3, 8) < timedelta(seconds=61), row
    done = await get_campaign(context, made.campaign_id)
    assert (done.status, done.counts.sent) == (CampaignStatus.DONE, 65)
    assert len(mailbox.got) == 65


async def test_start_never_sends_early(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 3)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=2), draft=True))
    assert made.status is CampaignStatus.DRAFT
    for _ in range(2):
        assert (await start(context, made.campaign_id)).status is CampaignStatus.SCHEDULED
    await engine.advance(to=START + timedelta(hours=2, seconds=-1))
    assert mailbox.got == []
    await engine.advance(seconds=3)
    assert len(mailbox.got) == 3


async def test_start_now(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 3)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=2)))
    await start(context, made.campaign_id, at_once=True)
    await engine.advance(seconds=5)
    assert len(mailbox.got) == 3
    job = await jobs.get(context, made.job_id)
    assert (job.status, job.schedule, job.next_run_at) == ("completed", "2027-03-01T12:00:00Z", None)
    assert await accounted(context, job) == [("fired", "fired on time; success")]
    await engine.advance(hours=3)
    assert len(mailbox.got) == 3
    assert await accounted(context, job) == [("fired", "fired on time; success")]


async def test_the_job_of_a_paused_campaign_is_paused_until_its_time(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 3)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=2)))
    await pause(context, made.campaign_id, reason="a wrong price")
    job = await jobs.get(context, made.job_id)
    assert (job.status, job.paused_reason, job.next_run_at) == ("paused", "a wrong price", None)
    await resume(context, made.campaign_id)
    job = await jobs.get(context, made.job_id)
    assert (job.status, job.next_run_at) == ("active", START + timedelta(hours=2, minutes=-10))
    await pause(context, made.campaign_id)
    await engine.advance(hours=2, minutes=30)
    assert mailbox.got == []
    await resume(context, made.campaign_id)
    await engine.advance(minutes=1)
    assert len(mailbox.got) == 3
    assert (await jobs.get(context, made.job_id)).status == "completed"


async def test_a_pause_while_it_sends_leaves_its_job_as_it_is(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 30)
    made = await go(context, rate=1.0)
    await engine.advance(seconds=2)
    await pause(context, made.campaign_id)
    await engine.advance(minutes=1)
    assert (await jobs.get(context, made.job_id)).status == "completed"


@pytest.mark.parametrize("before", ["draft", "scheduled", "paused"])
async def test_nothing_of_a_campaign_that_is_cancelled_before_its_time_stays_due(
    context: Context, engine: Engine, mailbox: Mailbox, before: str
) -> None:
    await add_recipients(engine.database, 3)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=2), draft=before == "draft"))
    if before == "paused":
        await pause(context, made.campaign_id)
    await cancel(context, made.campaign_id)
    await engine.advance(seconds=5)
    job = await jobs.get(context, made.job_id)
    assert (job.status, job.next_run_at) == ("completed", None)
    assert await accounted(context, job) == [("fired", "fired on time; success")]
    await engine.advance(hours=3)
    assert mailbox.got == []


async def test_messages_that_are_cancelled_one_by_one_are_counted(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 6)
    made = await create_campaign(context, spec(send_at=START + timedelta(minutes=5)))
    await engine.advance(minutes=1)
    refs = [each.notification_id for each in (await list_messages(context)).items]
    await cancel_message(context, refs[0])
    choice = message_choice(MessageFilter(), refs[1:3])
    assert (await act_on_items(context, choice, WORKS["cancel"])).done == 2
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.counts.cancelled, shown.counts.left, shown.counts.total) == (3, 3, 6)
    await engine.advance(minutes=6)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.cancelled, shown.counts.sent) == (CampaignStatus.DONE, 3, 3)


async def test_a_run_that_goes_on_conducts_whatever_its_number(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    """Each connection reserves numbers of runs, so those of a later run may be lower."""
    await add_recipients(engine.database, 10)
    made = await go(context, canary=0.2)
    await engine.advance(seconds=30)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.WAITING
    await fetch(context, "update sexton.campaigns set conductor_run = 1000000")
    await resume(context, made.campaign_id)
    await engine.advance(seconds=30)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(mailbox.got) == 10


async def test_a_rate(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 100)
    made = await go(context, rate=10.0)
    for second in range(1, 13):
        await engine.advance(seconds=1)
        assert len(mailbox.got) <= 10 * (second + 1)
    await engine.advance(seconds=10)
    times = sorted((await sent_at(context)).values())
    assert len(times) == 100
    for index, at in enumerate(times):
        later = times[index + 10] if index + 10 < 100 else None
        assert later is None or later - at >= timedelta(seconds=1)
    assert times[-1] - times[0] <= timedelta(seconds=15)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE


async def test_a_window_of_each_recipients_day(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    """It is noon in UTC, 13:00 in Berlin, 04:00 in Los Angeles and 21:00 in Tokyo."""
    zones = ("Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo")
    await add_recipients(engine.database, 9, zones=zones)
    made = await go(context, window=DailyWindow(start="09:00", end="20:00"))
    await engine.advance(seconds=5)
    assert len(mailbox.got) == 3
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.counts.sent, shown.counts.left) == (3, 6)
    await engine.advance(hours=24)
    rows = await fetch(context, "select timezone, sent_at from sexton.messages order by sent_at")
    walls = {row["sent_at"].astimezone(ZoneInfo(row["timezone"])).hour for row in rows}
    assert walls == {13, 9}
    [event] = await fetch(
        context,
        """select distinct event.detail ->> 'reason' as reason from sexton.message_events as event
           where event.kind = 'held'""",
    )
    assert event["reason"] == "the campaign's window"
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE


async def test_quiet_hours_and_caps_hold_messages_of_campaigns(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 3, prefix="quiet", quiet_hours={"start": "11:00", "end": "14:00"})
    await add_recipients(
        engine.database, 3, prefix="capped", caps=[{"channel": "email", "n": 1, "per": "day"}]
    )
    await go(context, name="first")
    await engine.advance(seconds=5)
    assert sorted(mailbox.users) == ["capped1", "capped2", "capped3"]
    second = await go(context, name="second")
    await engine.advance(seconds=5)
    assert len(mailbox.got) == 3
    await engine.advance(to=START.replace(hour=14) + timedelta(minutes=2))
    assert len(mailbox.got) == 9
    assert (await get_campaign(context, second.campaign_id)).counts.left == 3
    await engine.advance(to=START.replace(hour=0) + timedelta(days=1, minutes=2))
    assert (await get_campaign(context, second.campaign_id)).status is CampaignStatus.DONE
    assert len(mailbox.got) == 12


async def test_opted_out_bounced_failing(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 2, prefix="out", opt_outs=[{"channel": "email"}])
    await add_recipients(engine.database, 2, prefix="bad")
    await add_recipients(engine.database, 2, prefix="slow")
    tries: dict[str, int] = {}

    def answer(message: Outgoing) -> SendResult:
        user = message.user_id or ""
        tries[user] = tries.get(user, 0) + 1
        if user.startswith("bad"):
            return Rejected("no such mailbox", "550")
        if user.startswith("slow") and tries[user] < 3:
            return Failed("try later", ours=True)
        return Accepted()

    mailbox.answer = answer
    made = await go(context, retry_seconds=60)
    await engine.advance(seconds=5)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.counts.suppressed, shown.counts.failed, shown.counts.left) == (2, 2, 2)
    await engine.advance(minutes=5)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent) == (CampaignStatus.DONE, 2)
    assert tries == {"bad1": 1, "bad2": 1, "slow1": 3, "slow2": 3}


async def test_the_canary_goes_first(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 1000)
    made = await go(context, canary=0.01)
    await engine.advance(minutes=10)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent, shown.counts.left) == (CampaignStatus.WAITING, 10, 990)
    assert shown.reason is not None
    assert "canary" in shown.reason
    assert len(mailbox.got) == 10
    await engine.advance(hours=5)
    assert len(mailbox.got) == 10
    await resume(context, made.campaign_id)
    await engine.advance(seconds=10)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent) == (CampaignStatus.DONE, 1000)
    assert len(set(mailbox.users)) == len(mailbox.got) == 1000


async def test_pause_holds_from_the_next_batch_on(
    context: Context, engine: Engine, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "CHUNK_SIZE", 40)
    monkeypatch.setattr(conducting, "CHUNKS_PER_WORKER", 1)
    await add_recipients(engine.database, 400)
    made = await create_campaign(context, spec(rate=20.0))
    await start(context, made.campaign_id)
    await engine.advance(seconds=4)
    await pause(context, made.campaign_id, reason="a wrong price")
    before = len(mailbox.got)
    assert 0 < before < 400
    await engine.advance(hours=3)
    assert len(mailbox.got) == before
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.reason) == (CampaignStatus.PAUSED, "a wrong price")
    assert (shown.counts.sent, shown.counts.left) == (before, 400 - before)
    await resume(context, made.campaign_id)
    await engine.advance(minutes=1)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(set(mailbox.users)) == len(mailbox.got) == 400


async def test_paused_and_resumed_long_before_its_time_it_goes_at_its_time(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 3)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=2)))
    await pause(context, made.campaign_id)
    assert (await resume(context, made.campaign_id)).status is CampaignStatus.SCHEDULED
    await engine.advance(hours=1)
    # Its ledger is not written before it is time to prepare it.
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.total) == (CampaignStatus.SCHEDULED, 0)
    await engine.advance(minutes=59)
    assert mailbox.got == []
    await engine.advance(minutes=2)
    assert len(mailbox.got) == 3


async def test_cancel_marks_what_is_left(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 100)
    made = await create_campaign(context, spec(rate=10.0))
    await start(context, made.campaign_id)
    await engine.advance(seconds=3)
    await cancel(context, made.campaign_id, reason="not today")
    before = len(mailbox.got)
    await engine.advance(minutes=5)
    assert len(mailbox.got) == before
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.cancelled, shown.counts.left) == (
        CampaignStatus.CANCELLED, 100 - before, 0,
    )  # fmt: skip
    with pytest.raises(Conflict, match="is cancelled"):
        await resume(context, made.campaign_id)
    rows = await fetch(
        context, "select distinct failure_reason from sexton.messages where status = 'cancelled'"
    )
    assert [row["failure_reason"] for row in rows] == ["not today"]


async def test_a_paused_campaign_is_cancelled_only_if_its_messages_are(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 100)
    made = await create_campaign(context, spec(rate=10.0))
    await start(context, made.campaign_id)
    await engine.advance(seconds=3)
    await pause(context, made.campaign_id)
    await engine.advance(minutes=5)
    other = await create(
        context, JobSpec(name="other", schedule="0 0 1 1 *", target={"handler": "sexton.log"}, queue="far")
    )
    await run_now(context, other.job_id)
    await change_quotas(context, "default", QuotaChanges(live_runs=1))
    with pytest.raises(QuotaExceeded):
        await cancel(context, made.campaign_id)
    assert (await get_campaign(context, made.campaign_id)).status == CampaignStatus.PAUSED
    await change_quotas(context, "default", QuotaChanges(live_runs=None))
    await cancel(context, made.campaign_id)
    await engine.advance(minutes=5)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.left) == (CampaignStatus.CANCELLED, 0)


async def test_found_hours_late_it_waits_for_a_persons_word(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    """As after an outage: the engine comes back hours after its time."""
    await add_recipients(engine.database, 10)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=1)))
    await engine.outage(hours=5)
    await engine.advance(hours=1)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, mailbox.got) == (CampaignStatus.WAITING, [])
    assert shown.reason is not None
    assert "late" in shown.reason
    await resume(context, made.campaign_id)
    await engine.advance(seconds=10)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(mailbox.got) == 10


async def test_an_outage_in_the_middle_is_found_late_too(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 100)
    made = await go(context, rate=1.0)
    await engine.advance(seconds=20)
    before = len(mailbox.got)
    assert 0 < before < 30
    await engine.outage(hours=3)
    await engine.advance(minutes=5)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, len(mailbox.got)) == (CampaignStatus.WAITING, before)
    await resume(context, made.campaign_id)
    await engine.advance(minutes=3)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(mailbox.got) == 100


async def test_a_short_outage_is_no_reason_to_wait(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 10)
    made = await create_campaign(context, spec(send_at=START + timedelta(hours=1)))
    await engine.outage(hours=2)
    await engine.advance(minutes=1)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(mailbox.got) == 10


async def test_a_local_time_that_cannot_be_read_is_told_how_to_be_written(context: Context) -> None:
    with pytest.raises(InvalidField, match="'25:00'") as refused:
        await create_campaign(context, spec(local_time="25:00"))
    assert refused.value.hint == "write for example 08:00, or 2026-12-24 18:00"


@pytest.mark.parametrize("rule", list(WhenPast))
async def test_zones_where_it_is_past(
    context: Context, engine: Engine, mailbox: Mailbox, rule: WhenPast
) -> None:
    """It is 12:00Z: 08:00 is past in Berlin, and to come in New York."""
    await add_recipients(engine.database, 4, zones=("Europe/Berlin", "America/New_York"))
    made = await create_campaign(context, spec(local_time="08:00", when_past=rule))
    await engine.advance(minutes=1)
    at_once = {WhenPast.SEND_NOW: 2, WhenPast.NEXT_DAY: 0, WhenPast.SKIP: 0}[rule]
    assert len(mailbox.got) == at_once
    await engine.advance(hours=2)
    assert len(mailbox.got) == at_once + 2
    await engine.advance(hours=24)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent) == (CampaignStatus.DONE, 2 if rule is WhenPast.SKIP else 4)
    assert shown.counts.suppressed == (2 if rule is WhenPast.SKIP else 0)


async def test_an_audience_that_is_gone_fails_the_campaign(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await add_recipients(engine.database, 1)
    sql = "select user_id from sexton.recipients where 1 / (select count(*) - 1 from sexton.recipients) = 1"
    made = await create_campaign(context, spec(audience=AudienceSpec(sql=sql)), may_query=True)
    await start(context, made.campaign_id)
    await engine.advance(seconds=5)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, mailbox.got) == (CampaignStatus.FAILED, [])
    assert shown.reason is not None
    assert "division by zero" in shown.reason


@pytest.mark.parametrize(
    ("provider", "on_doubt", "status", "doubled"),
    [
        ("mailbox", None, "sent", True),
        ("mailbox", OnDoubt.HOLD, "unconfirmed", False),
        ("forgetful", None, "unconfirmed", False),
        ("forgetful", OnDoubt.RESEND, "sent", True),
    ],
)
async def test_what_was_perhaps_sent(
    context: Context,
    engine: Engine,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    on_doubt: OnDoubt | None,
    status: str,
    doubled: bool,
) -> None:
    """The first attempt ends right after its batch went out, before that was noted."""
    await put_provider(context, "box", ProviderSpec(channel="email", kind=provider))
    await add_recipients(engine.database, 5)

    passed: list[str] = []

    def point(name: str) -> None:
        passed.append(name)
        if passed.count("step.acted") == 1 and name == "step.acted":
            raise RuntimeError("the power is out")

    monkeypatch.setattr(crash, "point", point)
    made = await go(context, on_doubt=on_doubt)
    await engine.advance(minutes=2)
    shown = await get_campaign(context, made.campaign_id)
    rows = await fetch(context, "select distinct status from sexton.messages")
    assert [row["status"] for row in rows] == [status]
    assert shown.status is CampaignStatus.DONE
    assert (shown.counts.unconfirmed, shown.counts.sent) == ((0, 5) if status == "sent" else (5, 0))
    assert len(mailbox.got) == (10 if doubled else 5)
    assert len({message.key for message in mailbox.got}) == 5


async def test_what_exceeds_the_quota_of_a_day_waits_for_the_next(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    await change_quotas(context, "default", QuotaChanges(campaign_sends_per_day=30))
    await add_recipients(engine.database, 70)
    made = await go(context)
    await engine.advance(minutes=5)
    assert len(mailbox.got) == 30
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.left) == (CampaignStatus.SENDING, 40)
    assert shown.waits_for == "the quota of 30 campaign sends a day is used up"
    await engine.advance(to=START.replace(hour=0) + timedelta(days=1, minutes=5))
    assert len(mailbox.got) == 60
    await engine.advance(days=1)
    assert (await get_campaign(context, made.campaign_id)).status is CampaignStatus.DONE
    assert len(set(mailbox.users)) == len(mailbox.got) == 70


async def test_queues_count_messages(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 300)
    await create_campaign(context, spec(send_at=START + timedelta(minutes=8), prepare_seconds=1200))
    await engine.advance(seconds=10)
    before = await read_backlog(context, drain_seconds=60)
    assert (before.depth, before.waiting, before.due_in_5_minutes) == (0, 300, 0)
    assert (before.due_in_10_minutes, before.due_in_60_minutes, before.workers_needed) == (300, 300, 0)
    ahead = await read_backlog(context, drain_seconds=600)
    assert ahead.workers_needed == 1
    await engine.advance(minutes=9)
    after = await read_backlog(context, drain_seconds=60)
    assert (after.depth, after.waiting, after.oldest_age_seconds) == (0, 0, 0)
    assert after.drain_per_second > 0


def test_how_many_workers_are_needed() -> None:
    assert workers_needed(0, 1000, 300) == 0
    assert workers_needed(1, 1000, 300) == 1
    assert workers_needed(10_000_000, 2000, 300) == 17
