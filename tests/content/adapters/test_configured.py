"""Adapters by configuration: found by name, kept per namespace, used by workers as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sexton import Sexton
from sexton.config import Settings
from sexton.content.adapters import table
from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.adapters.configured import (
    UnknownAdapter,
    content_target,
    delete_adapter,
    get_adapter,
    list_adapters,
    put_adapter,
)
from sexton.content.adapters.table import adapters, load_adapters
from sexton.content.model import Action
from sexton.content.releases.release import check_release, create_release
from sexton.content.schedule import create_schedule
from sexton.content.spec import ReleaseItemSpec, ReleaseSpec, ScheduleSpec
from sexton.errors import Conflict, InvalidField, NotFound
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.secrets import keep
from sexton.testing import engine as start_engine
from tests.content.adapters.cms import KEY, Cms, serving
from tests.content.adapters.notes import NotesAdapter
from tests.content.adapters.requests import CONFIG

PATH = "tests.content.adapters.notes:NotesAdapter"
START = datetime(2027, 3, 1, 12, tzinfo=UTC)
HTTP: dict[str, Any] = {"url": "https://cms.example", **CONFIG}


@pytest.fixture
def own_table() -> Iterator[None]:
    """Kinds stay loaded for as long as the process runs; here for as long as the test does."""
    table.adapters.cache_clear()
    yield
    table.adapters.cache_clear()


@pytest.fixture(params=["entry point", "setting"])
def settings(
    request: pytest.FixtureRequest, own_table: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    if request.param == "setting":
        return Settings(adapters=f"notes={PATH}")
    info = tmp_path / "notes_adapter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sexton.content]\nnotes = {PATH}\nbroken = no.such:Thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Settings()


async def test_an_adapter_of_another_package(settings: Settings, server_url: str, tmp_path: Path) -> None:
    (tmp_path / "7.draft").write_text("Spring")
    app = Sexton(name="cms", adapters=settings.adapters)
    async with start_engine(app, at=START, server=server_url) as engine:
        assert adapters()["notes"] is NotesAdapter
        context = Context(engine.database)
        await put_adapter(context, "desk", AdapterSpec(kind="notes", config={"folder": str(tmp_path)}))
        await plan(context, "desk", "7")
        [run] = await engine.advance(hours=2)
        assert run.result == {
            "effect": "changed", "state_before": "draft", "state_after": "published", "version": None,
        }  # fmt: skip
        assert (tmp_path / "7.published").read_text() == "Spring"


async def test_a_site_is_published_and_its_new_address_counts(server_url: str) -> None:
    old, new = Cms(), Cms()
    for cms in (old, new):
        cms.make()
        cms.make()
    app = Sexton(name="cms", secret_key="a" * 43 + "=")
    async with serving(old), serving(new), start_engine(app, at=START, server=server_url) as engine:
        context = Context(engine.database)
        await keep(context, app.settings, "cms", KEY)
        await put_adapter(context, "site", AdapterSpec(kind="http", config={**CONFIG, "url": old.url}))
        await plan(context, "site", "1")
        await plan(context, "site", "2", hours=3)
        [first] = await engine.advance(hours=2)
        assert (first.status, first.result["effect"]) == ("success", "changed")
        await put_adapter(context, "site", AdapterSpec(kind="http", config={**CONFIG, "url": new.url}))
        await engine.advance(hours=2)
        assert [old.posts[each]["status"] for each in "12"] == ["live", "draft"]
        assert [new.posts[each]["status"] for each in "12"] == ["draft", "live"]


async def test_without_its_adapter_an_action_waits_for_it(server_url: str) -> None:
    """And what is recorded of a failure holds no secret."""
    cms = Cms()
    cms.make()
    app = Sexton(name="cms", secret_key="a" * 43 + "=")
    async with serving(cms), start_engine(app, at=START, server=server_url) as engine:
        context = Context(engine.database)
        await keep(context, app.settings, "cms", "wrong-key-of-the-site")
        spec = AdapterSpec(
            kind="http", config={**CONFIG, "url": cms.url, "headers": {"X-Key": "${secret:cms}"}}
        )
        await put_adapter(context, "site", spec)
        await plan(context, "site", "1")
        await delete_adapter(context, "site")
        assert await engine.advance(hours=1) == []
        [waiting] = await engine.live()
        assert waiting.error is not None
        assert "there is no adapter site" in waiting.error
        await put_adapter(context, "site", spec)
        [run] = await engine.advance(minutes=2)
        assert (run.status, "HTTP 401" in str(run.error)) == ("dead", True)
        assert "wrong-key" not in str(run.error)


async def plan(context: Context, adapter: str, number: str, hours: int = 1) -> None:
    await create_schedule(
        context,
        ScheduleSpec(
            entity_type="posts", entity_id=number, action=Action.PUBLISH, created_by="ann",
            at=START + timedelta(hours=hours), adapter=adapter,
        ),
    )  # fmt: skip


async def test_a_namespace_has_adapters_of_its_own(database: Database) -> None:
    here, there = Context(database, actor="ann"), Context(database, "other")
    made = await put_adapter(here, "site", AdapterSpec(kind="http", config=HTTP))
    assert (made.revision, made.config, made.changed_by) == (1, HTTP, "ann")
    assert (await put_adapter(here, "site", AdapterSpec(kind="http", config=HTTP))).revision == 2
    assert [each.name for each in await list_adapters(here)] == ["site"]
    assert await list_adapters(there) == []
    assert await content_target(here, "site") == {"content": {"adapter": "site", "kind": "http"}}
    assert await content_target(there, "builtin") == {"content": {"adapter": "builtin"}}
    for refused in (content_target(there, "site"), content_target(here, "http")):
        with pytest.raises(UnknownAdapter, match="there is no adapter"):
            await refused
    with pytest.raises(NotFound):
        await delete_adapter(there, "site")
    await delete_adapter(here, "site")
    with pytest.raises(NotFound, match="no adapter site"):
        await get_adapter(here, "site")


@pytest.mark.parametrize(
    ("name", "spec", "field"),
    [
        ("Blog", AdapterSpec(kind="http", config=HTTP), "name"),
        ("builtin", AdapterSpec(kind="http", config=HTTP), "name"),
        ("site", AdapterSpec(kind="builtin"), "kind"),
        ("site", AdapterSpec(kind="drupal"), "kind"),
        ("site", AdapterSpec(kind="http"), "config.url"),
        ("site", AdapterSpec(kind="http", config={**HTTP, "headers": {"x": "\0"}}), "config.headers.x"),
        ("site", AdapterSpec(kind="http", config={**HTTP, "headers": {"x": "y" * 70_000}}), "config"),
    ],
)
async def test_what_cannot_be_is_refused(
    database: Database, name: str, spec: AdapterSpec, field: str
) -> None:
    with pytest.raises(InvalidField) as refusal:
        await put_adapter(Context(database), name, spec)
    assert refusal.value.field == field
    assert refusal.value.hint


async def test_an_adapter_keeps_its_kind(database: Database, own_table: None) -> None:
    """Planned actions are in the lane of the kind."""
    load_adapters(Settings(adapters=f"notes={PATH}"))
    context = Context(database)
    await put_adapter(context, "site", AdapterSpec(kind="http", config=HTTP))
    with pytest.raises(Conflict, match="site is a http"):
        await put_adapter(context, "site", AdapterSpec(kind="notes", config={"folder": "/"}))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (PATH, "does not name an adapter and its path"),
        ("notes=nothing", "does not name an adapter and its path"),
        ("notes=no.such:Thing", "cannot be loaded: No module named 'no'"),
        ("notes=pathlib:Path", "is not a subclass of Adapter"),
        (f"builtin={PATH}", "there is another kind of adapter builtin"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(own_table: None, setting: str, words: str) -> None:
    with pytest.raises(InvalidField) as refusal:
        load_adapters(Settings(adapters=setting))
    assert words in str(refusal.value)
    assert refusal.value.field == "adapters"


async def test_a_release_asks_the_site_when_it_is_made_and_on_demand(server_url: str) -> None:
    cms = Cms()
    cms.make()
    cms.posts["1"]["status"] = "scheduled"
    app = Sexton(name="cms", secret_key="a" * 43 + "=")
    async with start_engine(app, at=START, server=server_url) as engine:
        context = Context(engine.database)
        items = [ReleaseItemSpec(entity_type="posts", entity_id=each, action=Action.PUBLISH) for each in "19"]
        async with serving(cms):
            await keep(context, app.settings, "cms", KEY)
            await put_adapter(context, "site", AdapterSpec(kind="http", config={**CONFIG, "url": cms.url}))
            spec = ReleaseSpec(items=items, created_by="ann", at=START + timedelta(hours=2), adapter="site")
            made = await create_release(context, spec, app.settings)
            assert [(each.content_id, each.code, each.warning) for each in made.findings] == [
                ("posts/1", "own_schedule", True),
                ("posts/9", "no_entity", False),
            ]
            cms.posts["1"]["status"] = "draft"
            cms.posts["9"] = {**cms.posts["1"], "id": "9"}
            assert (await check_release(context, made.release_id, app.settings)).findings == []
        [finding] = (await check_release(context, made.release_id, app.settings)).findings
        assert (finding.code, finding.warning) == ("not_checked", True)
        assert "site cannot be reached" in finding.message
