"""Entities, wherever they live."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.config import Settings
from sexton.content import elsewhere, entity
from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.adapters.base import Adapter
from sexton.content.adapters.configured import UnknownAdapter, put_adapter
from sexton.content.adapters.table import adapters
from sexton.content.entity import EntitySummary, count_entities, list_entities, put_entity, show_entity
from sexton.content.model import Action, Entity
from sexton.content.schedule import create_schedule
from sexton.content.spec import EntitySpec, ScheduleSpec
from sexton.postgres.estimate import Total
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.content.shelf import Shelf

AT = datetime(2027, 3, 2, 8, tzinfo=UTC)
SETTINGS = Settings()


async def plan(context: Context, number: str, **fields: Any) -> None:
    given: dict[str, Any] = {"action": Action.PUBLISH, "at": AT, "created_by": "ann", "adapter": "shelf"}
    await create_schedule(context, ScheduleSpec(entity_type="post", entity_id=number, **{**given, **fields}))


async def test_an_entity_elsewhere_is_as_its_adapter_tells(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1")
    await plan(context, "1")
    shown = await show_entity(context, Entity("post", "1"), SETTINGS)
    assert (shown.state, shown.adapter) == ("draft", "shelf")
    await engine.advance(to=AT)
    shown = await show_entity(context, Entity("post", "1"), SETTINGS)
    assert (shown.state, shown.published_version) == ("published", 1)
    [place] = shown.elsewhere
    assert (place.adapter, place.state, place.latest_version, place.error) == ("shelf", "published", 1, None)


async def test_what_is_kept_here_and_planned_elsewhere_shows_both(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1")
    await put_entity(context, Entity("post", "1"), EntitySpec(body={}))
    await plan(context, "1")
    await engine.advance(to=AT)
    shown = await show_entity(context, Entity("post", "1"), SETTINGS)
    assert (shown.adapter, shown.state) == ("builtin", "draft")
    assert [each.state for each in shown.elsewhere] == ["published"]


async def test_what_cannot_be_known_says_why(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plan(context, "7")
    shown = await show_entity(context, Entity("post", "7"), SETTINGS)
    assert (shown.state, shown.elsewhere[0].error) == (None, "there is no post/7")
    shelf.unreadable.add(Entity("post", "7"))
    shown = await show_entity(context, Entity("post", "7"), SETTINGS)
    assert shown.elsewhere[0].error == "shelf cannot be reached: ConnectionError: it cannot be read"
    monkeypatch.delitem(adapters(), "shelf")
    shown = await show_entity(context, Entity("post", "7"), SETTINGS)
    assert "there is no adapter shelf" in (shown.elsewhere[0].error or "")


async def test_an_adapter_that_does_not_answer_is_not_waited_for(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(shelf.adapter()):  # type: ignore[misc]
        async def state(self, *asked: Any) -> Any:
            await asyncio.Event().wait()

    silent: type[Adapter] = Silent
    monkeypatch.setitem(adapters(), "silent", silent)
    monkeypatch.setattr(elsewhere, "SECONDS", 0.1)
    shelf.put("1")
    await plan(context, "1")
    await plan(context, "1", adapter="silent", force=True)
    shown = await show_entity(context, Entity("post", "1"), SETTINGS)
    told = {each.adapter: (each.state, each.error) for each in shown.elsewhere}
    assert told == {"silent": (None, "silent did not answer within 0.1 seconds"), "shelf": ("draft", None)}


async def test_entities_are_counted(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await put_entity(
            context, Entity("post" if number % 2 else "banner", f"1{number}"), EntitySpec(body={})
        )
    assert await count_entities(context) == Total(5)
    assert await count_entities(context, entity_type="post", search="1") == Total(2)
    assert await count_entities(context, state="draft") == Total(5)
    assert await count_entities(context, state="published", search="11") == Total(0)
    assert await count_entities(context, adapter="shelf") is None
    monkeypatch.setattr(entity, "MOST_EXACT", 4)
    assert await count_entities(context, state="draft") is None


async def test_entities_of_an_adapter_are_those_that_its_plans_name(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put(*map(str, range(1, 6)))
    shelf.unreadable.add(Entity("post", "3"))
    for number in range(1, 6):
        await plan(context, str(number))
    await put_entity(context, Entity("post", "9"), EntitySpec(body={}))
    found = list[EntitySummary]()
    cursor = None
    while not found or cursor is not None:
        page = await list_entities(context, SETTINGS, adapter="shelf", cursor=cursor, limit=2)
        assert len(page.items) <= 2
        found += page.items
        cursor = page.cursor
    assert [(each.entity_id, each.state) for each in found] == [
        ("1", "draft"), ("2", "draft"), ("3", None), ("4", "draft"), ("5", "draft"),
    ]  # fmt: skip
    assert found[2].error == "shelf cannot be reached: ConnectionError: it cannot be read"
    drafts = await list_entities(context, SETTINGS, adapter="shelf", state="draft", limit=100)
    assert len(drafts.items) == 4
    assert [each.entity_id for each in (await list_entities(context, SETTINGS)).items] == ["9"]
    with pytest.raises(UnknownAdapter):
        await list_entities(context, SETTINGS, adapter="nowhere")


async def test_no_secret_shows_in_why_a_state_is_not_known(context: Context, engine: Engine) -> None:
    """The site cannot be reached, and its password is a secret that was not set."""
    config = {
        "url": "http://127.0.0.1:9",
        "auth": {"bearer": "${secret:cms}"},
        "state": {"path": "/{{entity_id}}"},
        "publish": {"path": "/{{entity_id}}"},
    }
    await put_adapter(context, "cms", AdapterSpec(kind="http", config=config))
    await plan(context, "1", adapter="cms")
    shown = await show_entity(context, Entity("post", "1"), SETTINGS)
    assert shown.state is None
    assert (shown.elsewhere[0].error or "").startswith("cms cannot be reached: ")
