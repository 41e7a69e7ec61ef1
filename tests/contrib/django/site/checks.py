"""The adapter for Wagtail inside a real site. `tests/contrib/django/test_wagtail.py` runs this, in a process
with Wagtail; the tables of the site are there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar, cast

import pytest

from sexton.content.adapters.base import NotPossible
from sexton.content.model import Action, Entity, EntityState
from sexton.contrib.django.project import app
from sexton.contrib.django.wagtail import WagtailAdapter
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.testing.adapters import ADAPTER_CHECKS, AdapterSubject

# After the application, which has set Django up.
# isort: split
from django.contrib.auth.models import User  # type: ignore[import-untyped]
from django.test import Client  # type: ignore[import-untyped]
from django.utils import timezone  # type: ignore[import-untyped]
from home.models import Article, Banner, Footer  # type: ignore[import-not-found]
from wagtail.models import Page  # type: ignore[import-not-found]

Result = TypeVar("Result")
CONTEXT = Context(cast(Database, None))
NUMBERS = count(1)


async def do(function: Callable[..., Result], *given: Any, **named: Any) -> Result:
    """As an editor does, in a process of the site."""
    return await asyncio.to_thread(function, *given, **named)


class Site(AdapterSubject):
    context = CONTEXT

    def __init__(self) -> None:
        super().__init__()
        self.adapter = WagtailAdapter(None, None)


class Pages(Site):
    absent = Entity("page", "999999")

    async def make(self) -> Entity:
        return Entity("page", str((await do(self._make)).pk))

    async def edit(self, entity: Entity) -> int:
        return await do(self._edit, entity)

    def _make(self) -> Any:
        made = Article(
            title="Spring", slug=f"spring-{os.getpid()}-{next(NUMBERS)}", body="It comes.", live=False
        )
        Page.get_first_root_node().add_child(instance=made)
        made.save_revision()
        return made

    def _edit(self, entity: Entity, **fields: Any) -> int:
        found = Article.objects.get(pk=entity.id).get_latest_revision_as_object()
        found.body = f"Text {next(NUMBERS)}"
        for name, value in fields.items():
            setattr(found, name, value)
        return int(found.save_revision().pk)


class Snippets(Site):
    absent = Entity("home.banner", "999999")

    async def make(self) -> Entity:
        return Entity("home.banner", str((await do(self._make)).pk))

    async def edit(self, entity: Entity) -> int:
        return await do(self._edit, entity)

    def _make(self) -> Any:
        made = Banner.objects.create(text="Sale", live=False)
        made.save_revision()
        return made

    def _edit(self, entity: Entity) -> int:
        found = Banner.objects.get(pk=entity.id).get_latest_revision_as_object()
        found.text = f"Text {next(NUMBERS)}"
        return int(found.save_revision().pk)


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.mark.parametrize("check", ADAPTER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [Pages, Snippets])
async def test_the_contract_is_kept(kind: type[Site], check: Any) -> None:
    await check(kind())


async def test_a_pinned_revision_goes_out_though_there_is_a_later_draft(pages: Pages) -> None:
    entity = await pages.make()
    pinned, later = await pages.edit(entity), await pages.edit(entity)
    text = (await do(lambda: Article.objects.get(pk=entity.id).revisions.get(pk=pinned))).content["body"]
    done = await pages.act(entity, Action.PUBLISH, pinned)
    assert (done.effect, done.version) == ("changed", pinned)
    live = await do(Article.objects.get, pk=entity.id)
    assert (live.live, live.live_revision_id, live.body) == (True, pinned, text)
    assert (live.latest_revision_id, live.has_unpublished_changes) == (later, True)


async def test_a_page_without_revisions_is_published_as_it_is(pages: Pages) -> None:
    entity = await pages.make()
    await do(lambda: Article.objects.get(pk=entity.id).revisions.all().delete())
    await do(lambda: Article.objects.filter(pk=entity.id).update(latest_revision=None))
    assert (await pages.act(entity, Action.PUBLISH)).effect == "changed"
    assert (await pages.act(entity, Action.PUBLISH)).effect == "no_op"


async def test_a_try_that_comes_again_leaves_alone_what_an_editor_did_since(pages: Pages) -> None:
    """The worker died after the change and before the record of it; meanwhile an editor published another
    text, or took the page off."""
    entity = await pages.make()
    pinned = await pages.edit(entity)
    change = pages.change(entity, Action.PUBLISH, pinned)
    await pages.apply(change)
    newer = await pages.edit(entity)
    await do(lambda: Article.objects.get(pk=entity.id).revisions.get(pk=newer).publish())
    again = await pages.apply(change)
    assert (again.effect, again.version) == ("no_op", newer)
    await do(lambda: Article.objects.get(pk=entity.id).unpublish())
    again = await pages.apply(change)
    assert (again.effect, again.state_after) == ("no_op", EntityState.UNPUBLISHED)


async def test_what_was_undone_can_be_done_again_under_its_key(pages: Pages) -> None:
    """As a release is that was undone, and is redriven."""
    entity = await pages.make()
    change = pages.change(entity, Action.PUBLISH)
    await pages.apply(change)
    await pages.act(entity, Action.UNPUBLISH)
    assert (await pages.apply(change)).effect == "changed"
    assert (await pages.standing(entity)).state == EntityState.PUBLISHED


async def test_what_is_archived_comes_back_when_an_editor_publishes_it(pages: Pages) -> None:
    entity = await pages.make()
    await pages.act(entity, Action.PUBLISH)
    await pages.act(entity, Action.ARCHIVE)
    assert not (await do(Article.objects.get, pk=entity.id)).live
    for action in (Action.PUBLISH, Action.UNPUBLISH):
        with pytest.raises(NotPossible, match="is archived"):
            await pages.act(entity, action)
    await do(lambda: Article.objects.get(pk=entity.id).latest_revision.publish())
    assert (await pages.standing(entity)).state == EntityState.PUBLISHED
    assert (await pages.act(entity, Action.UNPUBLISH)).state_after == EntityState.UNPUBLISHED


@pytest.mark.parametrize("action", Action)
async def test_what_wagtail_itself_would_do_is_warned_of_and_done_at_once(
    pages: Pages, action: Action
) -> None:
    entity = await pages.make()
    await pages.act(entity, Action.PUBLISH)
    ahead = timezone.now() + timedelta(days=400)
    held = await do(pages._edit, entity, go_live_at=ahead)
    await do(lambda: Article.objects.get(pk=entity.id).revisions.get(pk=held).publish())
    [finding] = await pages.adapter.check(CONTEXT, [pages.change(entity, action)])
    assert (finding.code, finding.warning) == ("own_schedule", True)
    assert f"publish revision {held}" in finding.message
    assert f"{ahead:%Y-%m-%d %H:%M:%SZ}" in finding.message
    done = await pages.act(entity, action)
    assert done.effect == "changed"
    assert await pages.adapter.check(CONTEXT, [pages.change(entity, Action.ARCHIVE)]) == []
    assert not await do(lambda: Article.objects.get(pk=entity.id).scheduled_revision)


async def test_a_revision_that_has_expired_or_is_for_later_goes_out_and_stays_out(pages: Pages) -> None:
    entity = await pages.make()
    past, ahead = timezone.now() - timedelta(days=1), timezone.now() + timedelta(days=1)
    version = await do(pages._edit, entity, go_live_at=ahead, expire_at=past)
    found = await pages.adapter.check(CONTEXT, [pages.change(entity, Action.PUBLISH, version)])
    assert [each.code for each in found] == ["own_schedule"] * 2
    assert "(go_live_at)" in found[0].message
    assert "(expire_at)" in found[1].message
    assert (await pages.act(entity, Action.PUBLISH, version)).state_after == EntityState.PUBLISHED
    from django.core.management import call_command  # type: ignore[import-untyped]

    await do(call_command, "publish_scheduled")
    assert (await pages.standing(entity)).state == EntityState.PUBLISHED


async def test_the_history_of_a_page_names_who_planned_the_change(pages: Pages) -> None:
    entity = await pages.make()
    for action in Action:
        await pages.act(entity, action)

    def history() -> str:
        user, _ = User.objects.get_or_create(username="editor", is_superuser=True, is_staff=True)
        client = Client()
        client.force_login(user)
        return str(client.get(f"/cms/pages/{entity.id}/history/").content.decode())

    shown = await do(history)
    for word in ("Published", "Unpublished", "Archived"):
        assert f"{word} by Sexton, planned by tester" in shown


@pytest.mark.parametrize(
    ("type_", "id_"),
    [("page", "one"), ("page", "0" * 40), ("page", "9" * 40), ("banner", "1"), ("home.Banner", "1"),
     ("home.article", "1"), ("nowhere.banner", "1"), ("home.nothing", "1"), ("", "1")],
)  # fmt: skip
async def test_entities_that_cannot_be_there(pages: Pages, type_: str, id_: str) -> None:
    entity = Entity(type_, id_)
    change = pages.change(entity, Action.PUBLISH)
    with pytest.raises(NotPossible, match="there is no"):
        await pages.apply(change)
    assert [each.code for each in await pages.adapter.check(CONTEXT, [change])] == ["no_entity"]
    assert await pages.adapter.state(CONTEXT, [entity]) == {}


async def test_what_has_no_state_is_refused_and_found_before(pages: Pages) -> None:
    def make() -> list[Entity]:
        root = Page.get_first_root_node()
        article = Article.objects.get(pk=pages._make().pk)
        alias = article.create_alias(update_slug=f"alias-{os.getpid()}-{next(NUMBERS)}", parent=root)
        footer = Footer.objects.create(text="us")
        return [
            Entity("home.footer", str(footer.pk)),
            Entity("page", str(alias.pk)),
            Entity("page", str(root.pk)),
        ]

    for entity, word in zip(await do(make), ("DraftStateMixin", "alias", "root"), strict=True):
        change = pages.change(entity, Action.UNPUBLISH)
        with pytest.raises(NotPossible, match=word):
            await pages.apply(change)
        assert [each.code for each in await pages.adapter.check(CONTEXT, [change])] == ["no_action"]


async def test_a_page_that_is_not_valid_any_more_fails_for_good(pages: Pages) -> None:
    entity = await pages.make()
    version = await pages.edit(entity)

    def spoil() -> None:
        revision = Article.objects.get(pk=entity.id).revisions.get(pk=version)
        revision.content = {**revision.content, "title": ""}
        revision.save()

    await do(spoil)
    with pytest.raises(NotPossible, match="Wagtail refuses"):
        await pages.act(entity, Action.PUBLISH, version)
    assert (await pages.standing(entity)).state == EntityState.DRAFT


async def test_other_namespaces_have_no_part_in_the_site(pages: Pages) -> None:
    entity = await pages.make()
    pages.context = Context(cast(Database, None), namespace="billing")
    with pytest.raises(NotPossible, match="namespace billing"):
        await pages.act(entity, Action.PUBLISH)
    assert await pages.adapter.state(pages.context, [entity]) == {}
    change = pages.change(entity, Action.PUBLISH)
    assert [each.code for each in await pages.adapter.check(pages.context, [change])] == ["no_entity"]


async def test_a_failure_inside_leaves_the_page_and_its_history_as_they_were(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change and the note of its key are one transaction of the site."""
    entity = await pages.make()

    def fail(**_: Any) -> None:
        raise ConnectionError("the database has gone")

    with monkeypatch.context() as patch:
        patch.setattr("sexton.contrib.django.wagtail.log", fail)
        with pytest.raises(ConnectionError):
            await pages.act(entity, Action.PUBLISH)
    assert (await pages.standing(entity)).state == EntityState.DRAFT
    assert (await pages.act(entity, Action.PUBLISH)).effect == "changed"


def test_the_application_has_the_jobs_of_the_site() -> None:
    assert list(app.jobs) == ["count-articles"]
    assert app.name == "site"
