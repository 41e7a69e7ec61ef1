"""Searching content: what other namespaces have hides nothing."""

from __future__ import annotations

import msgspec
import pytest

from sexton.content.search import search_content
from sexton.jobs.filter import words_query
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import search as engine_search
from tests.plans import nodes
from tests.seeding import Store

MANY = """
with made as (
    insert into sexton.content_entities (namespace, entity_type, entity_id, latest_version, updated_at)
    select $1, 'post', n::text, 1, clock_timestamp() from generate_series(1, $3::int) as n
    returning namespace, entity_id
)
insert into sexton.content_versions (namespace, entity_type, entity_id, version, body, created_by, created_at)
select namespace, 'post', entity_id, 1, jsonb_build_object('title', $2 || ' ' || entity_id), 'ann', now()
from made
"""


async def test_a_word_that_others_have_very_often_finds_ones_own(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_search, "MOST_CANDIDATES", 10)
    store = Store(database)
    for namespace, title, count in (("ash", "Spring collection", 20_000), ("oak", "Autumn sale", 5000)):
        await store.execute(MANY, namespace, title, count)
    await store.execute(
        """update sexton.content_versions set body = '{"title": "Spring sale"}'
        where namespace = 'oak' and entity_id = '7'"""
    )
    await store.execute("vacuum analyze sexton.content_entities")
    await store.execute("vacuum analyze sexton.content_versions")
    oak = Context(database, "oak")
    assert [each.id for each in await search_content(oak, "spring", 20)] == ["post/7"]
    assert len(await search_content(oak, "autumn", 20)) in range(1, 21)
    async with database.connection() as connection:
        words = words_query("spring", "oak/")
        text, arguments = database.prepared("content/search_titles", namespace="oak", words=words, limit=20)
        plan = await connection.fetchval(f"explain (format json) {text}", *arguments)
    used = {node.get("Index Name") for node in nodes(msgspec.json.decode(plan)[0]["Plan"])}
    assert "content_versions_title" in used
