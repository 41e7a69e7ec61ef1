"""Quiet hours, windows, caps, zones, expiry, rate and pause together, against an oracle of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from sexton import Sexton
from sexton.notifications.campaigns.campaign import create_campaign, pause, resume, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec, DailyWindow
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.recipients.quiet import ranges_of
from sexton.notifications.sending import hold
from sexton.notifications.sending.hold import Circumstances, DueMessage, Held, decide, subject_of
from sexton.notifications.spec import FrequencyCap
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.notifications.crowd import ZONES, add_recipients, add_template
from tests.notifications.hold_oracle import DAYS, Cap, Hours, first_allowed
from tests.notifications.mailbox import Mailbox

# Around the days on which clocks change in America and in Europe.
FIRST = datetime(2027, 3, 10, tzinfo=UTC)
MINUTES = 25 * 24 * 60

times = st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 59]))


@st.composite
def hours(draw: st.DrawFn, *, some_days: bool) -> Hours:
    begin, end = draw(times), draw(times)
    if begin == end:
        end = time((begin.hour + 1) % 24, begin.minute)
    days = draw(st.lists(st.sampled_from(DAYS), min_size=1, max_size=6, unique=True)) if some_days else DAYS
    return Hours(begin, end, tuple(days))


def written(each: Hours) -> dict[str, Any]:
    return {"start": f"{each.start:%H:%M}", "end": f"{each.end:%H:%M}", "days": list(each.days)}


def text_of(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@settings(max_examples=300, deadline=None)
@given(
    minute=st.integers(0, MINUTES),
    zone=st.sampled_from(ZONES),
    quiet=st.lists(hours(some_days=True), max_size=2),
    window=st.none() | hours(some_days=False),
    caps=st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from(["day", "week"]), st.integers(0, 4)), max_size=2
    ),
    expires=st.none() | st.integers(1, 3 * 24 * 60),
    urgent=st.booleans(),
)
def test_a_message_is_held_until_the_first_minute_that_is_allowed(
    minute: int,
    zone: str,
    quiet: list[Hours],
    window: Hours | None,
    caps: list[tuple[int, str, int]],
    expires: int | None,
    urgent: bool,
) -> None:
    now = FIRST + timedelta(minutes=minute)
    wall = now.astimezone(ZoneInfo(zone)).date()
    known = [FrequencyCap(channel="email", n=n, per=per) for n, per, _ in caps]
    had = {
        per: {wall - timedelta(days=wall.weekday()) if per == "week" else wall: count}
        for _, per, count in caps
    }
    counts = {
        ("ann", subject_of(FrequencyCap(channel="email", n=1, per=per)), first): count
        for per, seen in had.items()
        for first, count in seen.items()
    }
    message = DueMessage(
        channels=["email"],
        channel_index=0,
        topic=None,
        urgency="asap" if urgent else None,
        scheduled_at=now,
        expires_at=None if expires is None else now + timedelta(minutes=expires),
        user_id="ann",
        timezone=zone,
        quiet_hours=text_of([written(each) for each in quiet]) if quiet else None,
        opt_outs=None,
        caps=text_of([{"channel": "email", "n": cap.n, "per": cap.per} for cap in known]) if caps else None,
        addresses={"email": "ann@example.com"},
    )
    ranges = ranges_of(text_of([written(window)])) if window is not None else ()
    decision = decide(message, Circumstances(now=now, window=ranges, counts=dict(counts)))
    try:
        allowed = first_allowed(
            now,
            zone,
            quiet=[] if urgent else quiet,
            window=window,
            caps=[Cap(n, per, had[per]) for n, per, _ in caps],
        )
    except AssertionError:
        # Quiet hours and the window may leave no minute; then it is held on and on, and never sent.
        assert isinstance(decision, Held)
        return
    if allowed == now:
        assert isinstance(decision, hold.Sent), decision
        return
    assert isinstance(decision, Held), (decision, allowed)
    last = message.expires_at
    if last is not None and allowed > last:
        # It is looked at once more when it has expired.
        assert last < decision.until <= last + timedelta(seconds=1)
    else:
        assert decision.until == allowed


START = datetime(2027, 3, 12, 5, tzinfo=UTC)


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    from sexton.notifications.channels.table import provider_kinds

    made = Mailbox()
    monkeypatch.setitem(provider_kinds(), "mailbox", made.provider())
    return made


@pytest_asyncio.fixture
async def engine(server_url: str, mailbox: Mailbox) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="shop"), at=START, server=server_url) as running:
        yield running


@pytest.mark.parametrize("seed", [1, 2])
async def test_campaigns_keep_to_all_of_them_at_once(engine: Engine, mailbox: Mailbox, seed: int) -> None:
    """Two campaigns on the day on which American clocks change. What went out went out when the oracle allows
    it; what did not has expired."""
    chance = Random(seed)
    context = Context(engine.database, actor="tester")
    await put_provider(context, "box", ProviderSpec(channel="email", kind="mailbox"))
    await add_template(engine.database)
    people: dict[str, tuple[Hours | None, int | None]] = {}
    for number in range(6):
        quiet = None
        if chance.random() < 0.6:
            quiet = Hours(time(chance.randrange(24)), time(chance.randrange(24), 30))
        cap = chance.choice([None, 1, 2])
        await add_recipients(
            engine.database,
            len(ZONES),
            zones=ZONES,
            prefix=f"p{number}-",
            quiet_hours=None if quiet is None else {k: v for k, v in written(quiet).items() if k != "days"},
            caps=None if cap is None else [{"channel": "email", "n": cap, "per": "day"}],
        )
        people |= {f"p{number}-{place}": (quiet, cap) for place in range(1, len(ZONES) + 1)}
    window, rate, expires = Hours(time(7), time(22)), 2.0, 20 * 3600
    made = []
    for name in ("first", "second"):
        shown = await create_campaign(
            context,
            CampaignSpec(
                name=name,
                template_id="hello",
                audience=AudienceSpec(everyone=True),
                local_time="2027-03-14 02:30",
                window=DailyWindow(start="07:00", end="22:00"),
                rate=rate,
                expires_seconds=expires,
                draft=True,
            ),
        )
        made.append(shown.campaign_id)
        await start(context, shown.campaign_id)
    paused_from = datetime(2027, 3, 14, 9, tzinfo=UTC)
    await engine.advance(to=paused_from)
    await pause(context, made[0])
    await engine.advance(hours=3)
    await resume(context, made[0])
    paused_to = engine.now
    await engine.advance(to=datetime(2027, 3, 16, 12, tzinfo=UTC))
    async with engine.database.connection() as connection:
        rows = await connection.fetch(
            engine.database.sql(
                """select campaign_id, user_id, timezone, status, scheduled_at, sent_at, expires_at
                   from sexton.messages order by sent_at"""
            )
        )
    assert len(rows) == 2 * len(people) == len({(row["campaign_id"], row["user_id"]) for row in rows})
    assert {row["status"] for row in rows} <= {"sent", "expired"}
    campaigns = sorted({row["campaign_id"] for row in rows})
    per_day: Counter[tuple[str, date]] = Counter()
    sent: dict[int, list[datetime]] = {number: [] for number in campaigns}
    for row in rows:
        quiet, cap = people[row["user_id"]]
        if row["status"] != "sent":
            continue
        at = row["sent_at"]
        wall = at.astimezone(ZoneInfo(row["timezone"])).replace(tzinfo=None)
        assert row["scheduled_at"] <= at <= row["expires_at"]
        assert quiet is None or not quiet.hold(wall), row
        assert window.hold(wall), row
        if row["campaign_id"] == campaigns[0]:
            assert not paused_from + timedelta(seconds=1) < at < paused_to
        per_day[row["user_id"], wall.date()] += 1
        assert cap is None or per_day[row["user_id"], wall.date()] <= cap, row
        sent[row["campaign_id"]].append(at)
    for moments in sent.values():
        assert all(
            later - before >= timedelta(seconds=1)
            for before, later in zip(moments, moments[2:], strict=False)
        )

    def halted(at: datetime) -> bool:
        # What was due in that very second went out before the pause.
        return paused_from < at < paused_to

    # None expired that the oracle would have sent: those without a cap share their day with no other message.
    for row in rows:
        quiet, cap = people[row["user_id"]]
        if cap is not None:
            continue
        allowed = first_allowed(
            row["scheduled_at"],
            row["timezone"],
            quiet=[] if quiet is None else [quiet],
            window=window,
            paused=halted if row["campaign_id"] == campaigns[0] else lambda at: False,
        )
        slack = timedelta(minutes=10)
        if allowed + slack < row["expires_at"]:
            assert row["status"] == "sent", (row, allowed)
            assert allowed <= row["sent_at"] <= allowed + slack, (row, allowed)
        elif allowed > row["expires_at"]:
            assert row["status"] == "expired", (row, allowed)
