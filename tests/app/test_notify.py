"""`app.notify`: what recurs, is gathered, or comes in steps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sexton import Sexton
from sexton.errors import Conflict, InvalidField
from sexton.testing import engine

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


async def test_what_recurs_is_gathered_or_comes_in_steps(server_url: str) -> None:
    app = Sexton(name="shop")
    async with engine(app, at=START, server=server_url):
        await app.notify.recipient("ann", email="ann@example.com", timezone="Europe/Berlin")
        await app.notify.template("hello", email={"subject": "Hello", "text": "Hello"})

        made = await app.notify.schedule("0 9 * * mon", "hello", "ann", topic="news")
        assert (made.timezone, made.next_fire_at) == ("Europe/Berlin", datetime(2027, 3, 8, 8, tzinfo=UTC))
        paused = await app.notify.change_schedule(made.schedule_id, is_active=False)
        assert not paused.is_active
        assert [each.schedule_id for each in await app.notify.schedules(to="ann")] == [made.schedule_id]
        await app.notify.delete_schedule(made.schedule_id)
        assert await app.notify.schedules() == []
        with pytest.raises(InvalidField, match="frequency"):
            await app.notify.schedule("0 9 * * mon", "hello", "ann", frequency=3)

        await app.notify.digest("week", template_id="hello", channel="email", schedule="0 9 * * mon")
        first = await app.notify.add_event("week", "ann", {"text": "one"}, event_id="c-1")
        again = await app.notify.add_event("week", "ann", {"text": "one"}, event_id="c-1")
        assert first == again

        steps = [{"template_id": "hello", "channel": "email", "day": 3, "at": "09:00"}]
        await app.notify.sequence("drip", steps=steps, stop_on=["bought"])
        member = await app.notify.enter("drip", "ann")
        assert member.steps[0].send_at_utc == datetime(2027, 3, 4, 8, tzinfo=UTC)
        assert await app.notify.event("ann", "bought") == ["drip"]
        await app.notify.enter("drip", "ann")
        assert (await app.notify.leave("drip", "ann")).stopped_at is not None

        sent = await app.notify("hello", "ann", at=datetime(2027, 3, 9, tzinfo=UTC))
        for decide in (app.notify.resend, app.notify.confirm):
            with pytest.raises(Conflict, match="is pending"):
                await decide(sent.notification_id)
