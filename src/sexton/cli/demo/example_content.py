"""The content of `sexton demo`: posts that went out last week, one that failed and one that was skipped; and
planned actions: posts, one that needs an approval, a window, a series and releases.

Everything is planned by the public commands. Only past events are then written as if they had happened.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sexton.cli.demo import example_history
from sexton.content.entity import put_entity
from sexton.content.model import Action, Entity
from sexton.content.releases.release import check_release, create_release
from sexton.content.schedule import approve, create_schedule
from sexton.content.spec import EntitySpec, ReleaseItemSpec, ReleaseSpec, ScheduleSpec, WindowSpec
from sexton.content.window import create_window
from sexton.postgres.transaction import Context

ANN, BEN, KIM = "ann@example.com", "ben@example.com", "kim@example.com"
ZONE = "Europe/Berlin"
# title, days from now, hour
POSTS = (
    ("Spring collection", 1, 9), ("How we pick our suppliers", 2, 8), ("Five recipes for a rainy day", 2, 16),
    ("Meet the team: warehouse", 4, 9), ("A guide to gift cards", 5, 10), ("What is new in the app", 7, 9),
    ("Summer opening hours", 9, 8), ("Behind our packaging", 12, 11),
)  # fmt: skip
# title, days ago, hour, outcome
PAST = (
    ("Ten years of the shop", 6, 9, "success"), ("Where our coffee comes from", 5, 8, "success"),
    ("The new returns desk", 4, 15, "success"), ("Autumn lookbook", 3, 9, "success"),
    ("Prices of the winter tyres", 2, 7, "dead"), ("A walk through the warehouse", 2, 10, "success"),
    ("Flash sale: socks", 1, 12, "skipped"), ("Gift ideas under 20 euros", 1, 9, "success"),
)  # fmt: skip
REFUSED = "the page “winter-tyres” has no price in CHF: the shop refused it (422)"


async def plan_content(context: Context, now: datetime) -> None:
    """Plan all of it."""
    await _write_past(context, now)
    await _plan_posts(context, now)
    await _plan_others(context, now)
    await _plan_releases(context, now)


async def _write(context: Context, entity: Entity, body: dict[str, Any], by: str) -> None:
    await put_entity(context, entity, EntitySpec(body=body, created_by=by))


async def _plan(context: Context, entity: Entity, at: datetime, by: str, **more: Any) -> str:
    action = more.pop("action", Action.PUBLISH)
    spec = ScheduleSpec(
        entity_type=entity.type,
        entity_id=entity.id,
        action=action,
        at=at,
        timezone=ZONE,
        created_by=by,
        **more,
    )
    return (await create_schedule(context, spec)).schedule_id


def _at(now: datetime, days: int, hour: int, minute: int = 0) -> datetime:
    return (now + timedelta(days=days)).replace(hour=hour, minute=minute, second=0, microsecond=0)


async def _write_past(context: Context, now: datetime) -> None:
    for number, (title, days, hour, outcome) in enumerate(PAST, 1):
        entity = Entity("post", str(100 + number))
        body = {"title": title, "words": 400 + 70 * number}
        await _write(context, entity, body, ANN if number % 2 else BEN)
        plan = await _plan(context, entity, now + timedelta(hours=1), ANN, max_retries=1, force=True)
        error = REFUSED if outcome == "dead" else None
        await example_history.write_as_happened(context, plan, _at(now, -days, hour), outcome, error)


async def _plan_posts(context: Context, now: datetime) -> None:
    for number, (title, days, hour) in enumerate(POSTS, 1):
        entity = Entity("post", str(number))
        await _write(context, entity, {"title": title, "words": 350 + 90 * number}, ANN)
        note = "Photos come from the agency." if number == 4 else None
        waits = number in (2, 5)
        plan = await _plan(context, entity, _at(now, days, hour), ANN, needs_approval=waits, note=note)
        if number == 5:
            await approve(context, plan, by=KIM)
    await _write(context, Entity("post", "1"), {"title": POSTS[0][0], "words": 512}, BEN)


async def _plan_others(context: Context, now: datetime) -> None:
    """A window, a series, and a page that is archived."""
    await _write(context, Entity("banner", "black-friday"), {"title": "Black Friday: a fifth off"}, BEN)
    starts, ends = _at(now, 3, 0), _at(now, 6, 23, 59)
    await create_window(
        context,
        WindowSpec(
            entity_type="banner",
            entity_id="black-friday",
            starts=f"{starts:%Y-%m-%d %H:%M}",
            ends=f"{ends:%Y-%m-%d %H:%M}",
            timezone=ZONE,
            created_by=BEN,
            note="From midnight to midnight, where the shop is.",
        ),
    )
    await _write(context, Entity("banner", "advent"), {"title": "Advent: a surprise a day"}, KIM)
    await create_window(
        context,
        WindowSpec(
            entity_type="banner",
            entity_id="advent",
            starts=f"{_at(now, 12, 8):%Y-%m-%d %H:%M}",
            ends=f"{_at(now, 24, 18):%Y-%m-%d %H:%M}",
            timezone=ZONE,
            created_by=KIM,
        ),
    )
    await _write(context, Entity("page", "weekly-menu"), {"title": "The menu of the week"}, KIM)
    await create_schedule(
        context,
        ScheduleSpec(
            entity_type="page",
            entity_id="weekly-menu",
            action=Action.PUBLISH,
            local_time=f"{_at(now, 1, 6):%Y-%m-%d %H:%M}",
            timezone=ZONE,
            recurrence_rule="FREQ=WEEKLY;BYDAY=MO,TH",
            created_by=KIM,
        ),
    )
    await _write(context, Entity("page", "jobs-2025"), {"title": "Open positions of last year"}, KIM)
    await _plan(context, Entity("page", "jobs-2025"), _at(now, 4, 18), KIM, action=Action.ARCHIVE)


async def _plan_releases(context: Context, now: datetime) -> None:
    """One that needs an approval, and one with a finding: an item has no version yet."""
    for number, place in enumerate(("home", "category", "checkout"), 1):
        body = {"title": f"Sale banner: {place}", "part": number}
        await _write(context, Entity("banner", f"sale-{place}"), body, BEN)
    items = [
        ReleaseItemSpec(entity_type="banner", entity_id=f"sale-{place}", action=Action.PUBLISH)
        for place in ("home", "category", "checkout")
    ]
    sale = await create_release(
        context,
        ReleaseSpec(
            items=items,
            at=_at(now, 3, 10),
            timezone=ZONE,
            created_by=BEN,
            note="The sale begins",
            needs_approval=True,
        ),
    )
    app = [
        ReleaseItemSpec(entity_type="post", entity_id="6", action=Action.ARCHIVE),
        ReleaseItemSpec(entity_type="page", entity_id="app-download", action=Action.PUBLISH),
    ]
    launch = await create_release(
        context,
        ReleaseSpec(
            items=app, at=_at(now, 10, 9), timezone=ZONE, created_by=KIM, note="The new app", force=True
        ),
    )
    for release in (sale, launch):
        await check_release(context, release.release_id)
