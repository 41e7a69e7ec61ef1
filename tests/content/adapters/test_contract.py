"""Every adapter of Sexton keeps the contract, by the checks that others can run as well."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sexton.content.adapters.base import AdapterServices
from sexton.content.adapters.builtin import BuiltinAdapter
from sexton.content.adapters.http_adapter import HttpAdapter
from sexton.content.adapters.http_config import HttpConfig
from sexton.content.entity import put_entity
from sexton.content.model import Action, Applied, ContentChange, Entity
from sexton.content.spec import EntitySpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.testing.adapters import AdapterSubject, check_adapter
from tests.content.adapters.cms import CONTEXT, Cms, Ghost, Strapi, lending, serving
from tests.content.adapters.requests import CONFIG, read

ABSENT = Entity("posts", "999")


class Builtin(AdapterSubject):
    adapter = BuiltinAdapter()
    absent = ABSENT

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.context = Context(database)
        self._made = 0

    async def make(self) -> Entity:
        self._made += 1
        entity = Entity("posts", str(self._made))
        await self.edit(entity)
        return entity

    async def edit(self, entity: Entity) -> int:
        return (await put_entity(self.context, entity, EntitySpec(body={}))).versions[0].version


class Http(AdapterSubject):
    absent = ABSENT

    def __init__(self, cms: Cms, config: HttpConfig, services: AdapterServices) -> None:
        super().__init__()
        self.context = CONTEXT
        self.adapter = HttpAdapter(config, services)
        self.cms = cms

    async def make(self) -> Entity:
        return self.cms.make(self.absent.type)

    async def edit(self, entity: Entity) -> int | None:
        return self.cms.edit(entity)


class Preset(Http):
    actions = frozenset({Action.PUBLISH, Action.UNPUBLISH})

    async def edit(self, entity: Entity) -> int | None:
        return None


class GhostPost(Preset):
    absent = Entity("post", "999")


CASES: dict[str, tuple[type[Cms], type[Http], dict[str, Any]]] = {
    "http": (Cms, Http, CONFIG),
    "strapi": (Strapi, Preset, {"preset": "strapi", "auth": {"bearer": "${secret:cms}"}}),
    "ghost": (Ghost, GhostPost, {"preset": "ghost", "auth": {"ghost": "${secret:ghost}"}}),
}


async def test_entities_in_postgresql(database: Database) -> None:
    await check_adapter(Builtin(database))


@pytest.mark.parametrize("name", CASES)
async def test_a_site_over_http(name: str) -> None:
    cms_type, subject, config = CASES[name]
    cms = cms_type()
    async with serving(cms) as url, lending() as services:
        await check_adapter(subject(cms, read({**config, "url": url}), services))


async def test_what_is_wrong_is_told_by_check() -> None:
    """An adapter that says no_op is caught by what depends on it, and nothing else."""

    class Lying(HttpAdapter):
        async def apply(self, context: Context, change: ContentChange) -> Applied:
            done = await super().apply(context, change)
            return msgspec.structs.replace(done, effect="changed")

    cms = Cms()
    async with serving(cms) as url, lending() as services:
        subject = Http(cms, read({**CONFIG, "url": url}), services)
        subject.adapter = Lying(read({**CONFIG, "url": url}), services)
        with pytest.raises(ExceptionGroup, match="Lying does not keep the contract") as wrong:
            await check_adapter(subject)
    notes = [note for error in wrong.value.exceptions for note in error.__notes__]
    assert notes == [
        "in the check an_action_has_its_effect_once",
        "in the check the_same_change_twice_is_once",
        "in the check a_given_version_goes_out",
    ]
