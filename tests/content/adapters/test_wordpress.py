"""The adapter for WordPress, against a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.content.adapters.base import AdapterServices, NotPossible
from sexton.content.adapters.configured import read_config
from sexton.content.adapters.http_adapter import basic
from sexton.content.adapters.wordpress import WordPressAdapter, WordPressConfig
from sexton.content.model import Action, Entity, EntityState
from sexton.errors import InvalidField
from sexton.security.binding import ANYWHERE, Binding
from sexton.targets.http.outbound import Outbound
from sexton.testing.adapters import AdapterSubject, check_adapter
from tests.content.adapters.cms import CONTEXT, KnownSecrets
from tests.servers.address import address

WORDPRESS = "SEXTON_TEST_WORDPRESS_URL"
CONFIG: dict[str, Any] = {"url": "https://blog.example", "user": "editor", "password": "${secret:blog}"}


class Password(KnownSecrets):
    def __init__(self, password: str) -> None:
        super().__init__()
        self._password = password

    async def _find(self, namespace: str, name: str) -> tuple[str, Binding]:
        return self._password, ANYWHERE


class WordPress(AdapterSubject):
    """A site, and how an editor uses it."""

    context = CONTEXT

    def __init__(self, session: aiohttp.ClientSession, outbound: Outbound, type_: str, archive: str) -> None:
        super().__init__()
        parts = urlsplit(address(WORDPRESS))
        self.url = f"http://127.0.0.1:{parts.port}"
        services = AdapterServices(Settings(), outbound, Password(parts.password or ""))
        config = {**CONFIG, "url": self.url, "archive": archive}
        self.adapter = WordPressAdapter(read_config("wordpress", config), services)
        self.absent = Entity(type_, "999999")
        self.base = {"post": "posts", "page": "pages"}[type_]
        self._session = session
        self._headers = {"Authorization": basic(parts.username or "", parts.password or "")}
        self._edits = 0

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        url = f"{self.url}/?rest_route=/wp/v2/{self.base}{path}"
        async with self._session.request(method, url, json=body, headers=self._headers) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def make(self) -> Entity:
        made = await self.call("POST", "", {"title": "Spring", "content": "It comes.", "status": "draft"})
        return Entity(self.absent.type, str(made["id"]))

    async def edit(self, entity: Entity) -> int:
        self._edits += 1
        await self.call("POST", f"/{entity.id}", {"content": f"Text {self._edits}"})
        return int((await self.call("GET", f"/{entity.id}/revisions"))[0]["id"])


@pytest_asyncio.fixture
async def sites() -> AsyncIterator[Any]:
    outbound = Outbound(Settings())
    async with aiohttp.ClientSession() as session:
        yield lambda type_="post", archive="private": WordPress(session, outbound, type_, archive)
    await outbound.close()


@pytest.mark.servers
@pytest.mark.parametrize(("type_", "archive"), [("post", "private"), ("page", "trash")])
async def test_the_contract_is_kept(sites: Any, type_: str, archive: str) -> None:
    await check_adapter(sites(type_, archive))


@pytest.mark.servers
async def test_what_wordpress_would_publish_itself_is_warned_of_and_published_at_once(sites: Any) -> None:
    site = sites()
    entity = await site.make()
    await site.call("POST", f"/{entity.id}", {"status": "future", "date_gmt": "2099-01-01T00:00:00"})
    change = site.change(entity, Action.PUBLISH)
    [finding] = await site.adapter.check(CONTEXT, [change])
    assert (finding.code, finding.warning) == ("own_schedule", True)
    assert "2099-01-01" in finding.message
    assert (await site.apply(change)).state_after == EntityState.PUBLISHED
    post = await site.call("GET", f"/{entity.id}")
    assert datetime.fromisoformat(post["date_gmt"]).replace(tzinfo=UTC).year < 2099


@pytest.mark.servers
async def test_a_revision_brings_back_its_text(sites: Any) -> None:
    site = sites()
    entity = await site.make()
    first, second = await site.edit(entity), await site.edit(entity)
    texts = []
    for version in (first, second):
        await site.act(entity, Action.PUBLISH, version)
        texts.append((await site.call("GET", f"/{entity.id}"))["content"]["rendered"])
    assert ["Text 1" in texts[0], "Text 2" in texts[1]] == [True, True]


@pytest.mark.servers
async def test_types_and_users_that_are_not_there(sites: Any) -> None:
    site = sites()
    for entity in (Entity("product", "1"), Entity("post", "one")):
        with pytest.raises(NotPossible, match="there is no"):
            await site.act(entity, Action.PUBLISH)
    entity = await site.make()
    wrong = WordPressAdapter(
        WordPressConfig(**{**CONFIG, "url": site.url}),
        AdapterServices(Settings(), site.adapter.services.outbound, Password("wrong")),
    )
    with pytest.raises(NotPossible, match="HTTP 401"):
        await asyncio.wait_for(wrong.apply(CONTEXT, site.change(entity, Action.PUBLISH)), 30)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({**CONFIG, "url": "blog.example"}, "config.url"),
        ({**CONFIG, "password": "plain"}, "config.password"),
        ({**CONFIG, "user": ""}, "config.user"),
        ({**CONFIG, "archive": "delete"}, "config.archive"),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as refusal:
        read_config("wordpress", config)
    assert refusal.value.field == field
