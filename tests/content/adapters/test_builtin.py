"""The adapter that keeps entities in PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sexton.content.adapters.base import NotPossible
from sexton.content.adapters.builtin import BuiltinAdapter
from sexton.content.entity import put_entity
from sexton.content.model import Action, ContentChange, Entity, EntityState, Standing
from sexton.content.spec import EntitySpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context

POST = Entity("post", "1")
ADAPTER = BuiltinAdapter()


def change(action: Action, version: int | None = None, entity: Entity = POST) -> ContentChange:
    at = datetime(2027, 3, 1, tzinfo=UTC)
    return ContentChange("default", entity, action, version, key="k", scheduled_at=at, actor="ann")


async def test_states_follow_the_actions(database: Database) -> None:
    context = Context(database)
    await put_entity(context, POST, EntitySpec(body={}))
    await put_entity(context, POST, EntitySpec(body={}))
    done = [
        await ADAPTER.apply(context, change(*each))
        for each in (
            (Action.PUBLISH, 1), (Action.PUBLISH, 1), (Action.PUBLISH, None), (Action.UNPUBLISH, None),
            (Action.UNPUBLISH, None), (Action.ARCHIVE, None), (Action.ARCHIVE, None),
        )
    ]  # fmt: skip
    assert [each.effect for each in done] == [
        "changed", "no_op", "changed", "changed", "no_op", "changed", "no_op",
    ]  # fmt: skip
    assert await ADAPTER.state(context, [POST, Entity("post", "2")]) == {
        POST: Standing(EntityState.ARCHIVED, 2, 2)
    }


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (change(Action.PUBLISH, entity=Entity("post", "9")), "no post/9"),
        (change(Action.PUBLISH, 7), "no version 7"),
    ],
)
async def test_what_cannot_be_is_not_tried_again(database: Database, asked: ContentChange, word: str) -> None:
    context = Context(database)
    await put_entity(context, POST, EntitySpec(body={}))
    with pytest.raises(NotPossible, match=word):
        await ADAPTER.apply(context, asked)
    [finding] = await ADAPTER.check(context, [asked])
    assert word in finding.message


async def test_entities_of_another_namespace_are_not_there(database: Database) -> None:
    await put_entity(Context(database, "other"), POST, EntitySpec(body={}))
    assert await ADAPTER.state(Context(database), [POST]) == {}
    with pytest.raises(NotPossible):
        await ADAPTER.apply(Context(database), change(Action.PUBLISH))
