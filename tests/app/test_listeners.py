"""Listeners of an application: what they get, where they are called, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton import Run, RunEvent, Sexton
from sexton.errors import InvalidField
from sexton.testing import engine
from tests.waiting import PATIENCE

FAR = datetime(2100, 1, 1, tzinfo=UTC)
MONDAY = datetime(2026, 6, 1, tzinfo=UTC)


class Mail:
    def __init__(self) -> None:
        self.sent: list[RunEvent] = []


@pytest.fixture
def app(database_url: str) -> Sexton:
    return Sexton(database_url, name="test")


async def test_what_listeners_are_told(app: Sexton, server_url: str) -> None:
    mail = Mail()
    app.provide(Mail, lambda: mail)

    @app.on("failed")
    @app.on("dead")
    async def tell(event: RunEvent, mail: Mail) -> None:
        mail.sent.append(event)

    @app.on("succeeded")
    def tell_in_a_thread(event: RunEvent, mail: Mail) -> None:
        mail.sent.append(event)

    @app.job("@daily", payload={"n": 1}, max_retries=1, retry_base_seconds=60)
    async def report(run: Run) -> None:
        raise ValueError("no paper")

    @app.job("@daily")
    async def other(run: Run) -> dict[str, int]:
        return {"pages": 3}

    async with engine(app, at=MONDAY, server=server_url) as test:
        await test.advance(days=1, minutes=1)
    failed = [event for event in mail.sent if event.job_name == "report"]
    [good] = [event for event in mail.sent if event.job_name == "other"]
    assert [(event.name, event.attempt, event.retry_seconds) for event in failed] == [
        ("failed", 1, 60.0),
        ("failed", 2, None),
        ("dead", 2, None),
    ]
    assert {event.run_id for event in failed} == {failed[0].run_id}
    assert failed[0].scheduled_at == MONDAY + timedelta(days=1)
    assert (failed[0].payload, failed[0].trigger) == ({"n": 1}, "schedule")
    assert failed[2].reason == "exhausted"
    assert (failed[0].error or "").startswith("ValueError: no paper\n")
    assert failed[0].finished_at >= failed[0].started_at
    assert (good.name, good.result, good.error) == ("succeeded", {"pages": 3}, None)
    assert good.idempotency_key.startswith(f"{good.job_id}:")


async def test_a_running_application_tells_them_too(app: Sexton) -> None:
    told: list[str] = []
    app.on("succeeded")(lambda event: told.append(event.run_id))
    app.handler("work")(lambda run: None)
    async with app.running():
        job = await app.schedule("work", at=FAR)
        run_id = await app.run_now(job.job_id)
        await app.result(run_id, timeout=PATIENCE)
    assert told == [run_id]


@pytest.mark.parametrize("event", ["finished", "", None, lambda event: None])
def test_an_unknown_event_is_refused(app: Sexton, event: Any) -> None:
    with pytest.raises(InvalidField, match="there is no event") as caught:
        app.on(event)
    assert (caught.value.code, caught.value.field) == ("unknown_event", "event")
    assert "succeeded, failed, dead, cancelled" in str(caught.value)


async def test_a_listener_that_needs_what_nothing_provides_is_refused_at_the_start(app: Sexton) -> None:
    @app.on("dead")
    async def tell(event: RunEvent, mail: Mail) -> None: ...

    with pytest.raises(InvalidField, match="mail= of the listener tell needs a Mail"):
        app._check_providers()
    with pytest.raises(InvalidField, match="mail= of the listener tell needs a Mail"):
        async with app.running():
            raise AssertionError
