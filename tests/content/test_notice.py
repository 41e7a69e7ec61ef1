"""Authors are told: what went out, failed, was missed, or will fail; signed, once, and never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from standardwebhooks.webhooks import Webhook

from sexton.content.adapters.base import Adapter
from sexton.content.entity import put_entity
from sexton.content.execution import OpenContent
from sexton.content.model import Action, Entity, NoticeEvent
from sexton.content.notice import get_notices, remove_notices, set_notices
from sexton.content.releases.release import create_release
from sexton.content.schedule import create_schedule
from sexton.content.spec import EntitySpec, NoticeSpec, ReleaseItemSpec, ReleaseSpec, ScheduleSpec
from sexton.engine import crash
from sexton.errors import InvalidField, LeaseLost
from sexton.model import Outcome
from sexton.postgres.transaction import Context
from sexton.targets.http.step import signing_secret
from sexton.targets.run import RunContext
from sexton.testing import Engine
from tests.content.letters import deliver_letters
from tests.content.shelf import Shelf
from tests.targets.services import Service, serving

AT = datetime(2027, 3, 2, 8, tzinfo=UTC)


def plan(number: str, **fields: Any) -> ScheduleSpec:
    given: dict[str, Any] = {
        "entity_type": "post", "entity_id": number, "action": Action.PUBLISH, "created_by": "ann", "at": AT,
    }  # fmt: skip
    return ScheduleSpec(**{**given, **fields})


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    async with serving() as running:
        yield running


async def notices(engine: Engine) -> list[tuple[str, str, str | None]]:
    """Type, what it is about, and the error, of each notice that was made."""
    async with engine.database.connection() as connection:
        rows = await connection.fetch(
            """
            select payload -> 'data' as data, payload ->> 'type' as type from (
                select payload, scheduled_at, id from sexton.runs where trigger = 'manual'
                union all select payload, scheduled_at, run_id from sexton.history where trigger = 'manual'
            ) as made
            order by scheduled_at, id -- each connection has a cache of ids: alone they are in no order
            """
        )
    found = [(row["type"], msgspec.json.decode(row["data"])) for row in rows]
    return [(kind, data.get("content_id") or data["release_id"], data.get("error")) for kind, data in found]


async def test_what_went_out_what_failed_and_what_was_missed(
    context: Context, engine: Engine, service: Service
) -> None:
    await set_notices(context, NoticeSpec(url=service.url))
    await put_entity(context, Entity("post", "1"), EntitySpec(body={}))
    await create_schedule(context, plan("1"))
    await create_schedule(context, plan("2"))
    await create_schedule(context, plan("3", catch_up_seconds=60, at=AT + timedelta(hours=1)))
    await engine.advance(to=AT)
    await engine.outage(days=1)
    assert sorted(await notices(engine)) == [
        ("content.done", "post/1", None),
        ("content.failed", "post/2", "there is no post/2"),
        ("content.missed", "post/3", "missed, outside the catch-up window"),
    ]
    assert len(service.requests) == 3
    request, body = service.requests[0]
    hook = Webhook(await signing_secret(engine.database))
    told = hook.verify(body.decode(), dict(request.headers))
    assert told["data"]["created_by"] == "ann"


async def test_only_what_was_asked_for_and_nothing_any_more(
    context: Context, engine: Engine, service: Service
) -> None:
    shown = await set_notices(context, NoticeSpec(url=service.url, events=[NoticeEvent.FAILED]))
    assert (shown.url, shown.events) == (service.url, [NoticeEvent.FAILED])
    again = await set_notices(context, NoticeSpec(url=service.url + "/2", events=[NoticeEvent.FAILED]))
    assert again.job_id == shown.job_id
    await put_entity(context, Entity("post", "1"), EntitySpec(body={}))
    await create_schedule(context, plan("1"))
    await engine.advance(to=AT)
    assert await notices(engine) == []
    await remove_notices(context)
    assert (await get_notices(context)).url is None
    await create_schedule(context, plan("2", at=AT + timedelta(hours=1)))
    await engine.advance(hours=2)
    assert await notices(engine) == []


async def test_a_release_that_will_fail_is_told_of_before_its_time(
    context: Context, engine: Engine, service: Service
) -> None:
    await set_notices(context, NoticeSpec(url=service.url))
    item = ReleaseItemSpec(entity_type="post", entity_id="9", action=Action.PUBLISH)
    made = await create_release(context, ReleaseSpec(items=[item], created_by="ann", at=AT))
    assert await notices(engine) == [("content.will_fail", made.release_id, None)]
    await engine.advance(to=AT - timedelta(hours=1))
    assert await notices(engine) == [("content.will_fail", made.release_id, None)] * 2
    await engine.advance(to=AT)
    failed = ("content.failed", made.release_id, "1 of 1 items failed: there is no post/9")
    assert (await notices(engine))[2:] == [failed]


@pytest.mark.parametrize("point", ["step.begun", "step.acted", "step.noted"])
async def test_a_crash_neither_loses_a_notice_nor_sends_it_twice(
    shelf: Shelf,
    context: Context,
    engine: Engine,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    await set_notices(context, NoticeSpec(url=service.url))
    shelf.put("1")
    shelf.impossible.add(Entity("post", "2"))
    await create_schedule(context, plan("1", adapter="shelf"))
    await create_schedule(context, plan("2", adapter="shelf"))
    crashed: list[str] = []

    def die(name: str) -> None:
        if name == point and len(crashed) < 2:
            crashed.append(name)
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    await engine.advance(to=AT + timedelta(minutes=1))
    assert sorted(await notices(engine)) == [
        ("content.done", "post/1", None),
        ("content.failed", "post/2", "post/2 is stuck"),
    ]
    assert len(shelf.made) == 1
    assert crashed


async def test_an_address_that_is_none_is_refused(context: Context, engine: Engine, service: Service) -> None:
    with pytest.raises(InvalidField, match="not an http or https URL"):
        await set_notices(context, NoticeSpec(url="nowhere"))


async def test_that_the_last_attempt_took_too_long_is_told(
    context: Context, engine: Engine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    await set_notices(context, NoticeSpec(url=service.url, events=[NoticeEvent.FAILED]))
    item = ReleaseItemSpec(entity_type="post", entity_id="2", action=Action.PUBLISH)
    await create_schedule(context, plan("1", max_retries=1))
    made = await create_release(
        context, ReleaseSpec(items=[item], created_by="ann", at=AT, max_retries=0, preflight_seconds=None)
    )

    async def stop(opened: OpenContent, adapter: Adapter, run: RunContext) -> Outcome:
        run.stop = "timeout"
        raise asyncio.CancelledError

    monkeypatch.setattr(OpenContent, "_carry_out", stop)
    late = "timeout: it was stopped after 300 seconds"
    await engine.advance(to=AT)
    first = ("content.failed", made.release_id, late.replace("300", "3600"))
    assert await notices(engine) == [first]
    await engine.advance(minutes=1)
    assert (await notices(engine))[1:] == [("content.failed", "post/1", late)]


async def test_of_a_run_that_could_not_tell_itself_its_author_is_told_once(
    shelf: Shelf, context: Context, engine: Engine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that has ended the process of its worker again and again: only its dead letter is left."""
    await set_notices(context, NoticeSpec(url=service.url))
    shelf.put("1")
    shelf.impossible |= {Entity("post", "1"), Entity("post", "2")}
    shelf.put("2")
    with monkeypatch.context() as silent:
        silent.setattr(OpenContent, "_tell_failed", _say_nothing)
        await create_schedule(context, plan("1", adapter="shelf"))
        await engine.advance(to=AT)
    assert await notices(engine) == []
    await create_schedule(context, plan("2", adapter="shelf", at=AT + timedelta(hours=1)))
    await engine.advance(to=AT + timedelta(hours=1))
    assert await notices(engine) == [("content.failed", "post/2", "post/2 is stuck")]
    assert await deliver_letters(engine) == 2
    assert sorted(await notices(engine)) == [
        ("content.failed", "post/1", "post/1 is stuck"),
        ("content.failed", "post/2", "post/2 is stuck"),
    ]


async def _say_nothing(*said: Any) -> None:
    """Its process is gone."""
