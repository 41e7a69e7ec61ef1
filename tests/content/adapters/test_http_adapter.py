"""The adapter for any CMS, against one that misbehaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from sexton.content.adapters.base import AdapterServices, NotNow, NotPossible
from sexton.content.adapters.cms_api import CmsError
from sexton.content.adapters.configured import read_config
from sexton.content.adapters.http_adapter import HttpAdapter, look_up
from sexton.content.model import Action, ContentChange, Entity, EntityState
from sexton.errors import InvalidField
from sexton.security.binding import Binding
from sexton.security.secrets import SecretError
from tests.content.adapters.cms import CONTEXT, KEY, Cms, Fault, Ghost, Handler, Strapi, lending, serving
from tests.content.adapters.requests import CONFIG, read

BAD: dict[str, Any] = {"url": "https://cms.example", **CONFIG}


def change(entity: Entity, action: Action = Action.PUBLISH, version: int | None = None) -> ContentChange:
    at = datetime(2027, 3, 1, 9, tzinfo=UTC)
    return ContentChange("default", entity, action, version, key="k:1", scheduled_at=at, actor="ann")


@pytest_asyncio.fixture
async def cms() -> AsyncIterator[Cms]:
    made = Cms()
    async with serving(made):
        yield made


@pytest_asyncio.fixture
async def services() -> AsyncIterator[AdapterServices]:
    async with lending() as lent:
        yield lent


@pytest.fixture
def adapter(cms: Cms, services: AdapterServices) -> HttpAdapter:
    return HttpAdapter(read({**CONFIG, "url": cms.url, "timeout_seconds": 1}), services)


def saying(status: int, text: str = "{}", **headers: str) -> Fault:
    async def fault(request: web.Request, answer: Handler) -> web.StreamResponse:
        return web.Response(status=status, text=text, headers=headers)

    return fault


async def lose_the_answer(request: web.Request, answer: Handler) -> web.StreamResponse:
    await answer(request)
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def drip(request: web.Request, answer: Handler) -> web.StreamResponse:
    """The status at once, and then nothing more."""
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'{"post": ')
    await asyncio.Event().wait()
    return response


async def hang(request: web.Request, answer: Handler) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def flood(request: web.Request, answer: Handler) -> web.StreamResponse:
    return web.Response(body=b" " * (1024 * 1024 + 1))


async def pretend(request: web.Request, answer: Handler) -> web.StreamResponse:
    return web.json_response({"post": {"status": "live"}})


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (saying(500, "out of order"), "HTTP 500: out of order"),
        (saying(503), "HTTP 503"),
        (saying(429), "HTTP 429"),
        (saying(409, "collision"), "HTTP 409: collision"),
        (
            saying(302, Location="http://169.254.169.254/"),
            "HTTP 302 to http://169.254.169.254/; redirects are not",
        ),
        (saying(200, "<html>"), ", and the answer is not JSON: <html>"),
        (saying(200, '{"post": {"status": "draft"}}'), "post.status is 'draft', not 'live'"),
        (saying(200, "[]"), "answered 200 without post.status"),
        (pretend, "but it is draft"),
        (flood, "more than 1,048,576 bytes"),
        (lose_the_answer, "ServerDisconnectedError"),
        (drip, "no complete answer within 1 second"),
        (hang, "no complete answer within 1 second"),
    ],
)
async def test_what_may_pass_is_tried_again(fault: Fault, words: str, adapter: HttpAdapter, cms: Cms) -> None:
    """And the try after it finds out what the first one did."""
    entity = cms.make()
    cms.faults.append(fault)
    with pytest.raises(CmsError) as failure:
        await adapter.apply(CONTEXT, change(entity))
    assert words in str(failure.value)
    again = await adapter.apply(CONTEXT, change(entity))
    assert again.effect == ("no_op" if fault is lose_the_answer else "changed")
    assert again.state_after == EntityState.PUBLISHED
    assert [request.headers["Idempotency-Key"] for request in cms.changing] == ["k:1"] * len(cms.changing)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (saying(404), "there is no posts/1"),
        (saying(410), "there is no posts/1"),
        (saying(400, "bad"), "HTTP 400: bad"),
        (saying(403), "HTTP 403"),
        (saying(308, Location="https://elsewhere.example/"), "to https://elsewhere.example/"),
    ],
)
async def test_what_would_fail_again_is_not_tried_again(
    fault: Fault, words: str, adapter: HttpAdapter, cms: Cms
) -> None:
    entity = cms.make()
    cms.faults.append(fault)
    with pytest.raises(NotPossible) as failure:
        await adapter.apply(CONTEXT, change(entity))
    assert words in str(failure.value)
    assert cms.posts["1"]["status"] == "draft"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (saying(500), "HTTP 500"),
        (saying(200, "<html>"), "not JSON"),
        (saying(200, "{}"), "without post.status"),
        (saying(200, '{"post": {"status": "limbo"}}'), "'limbo', which is not in `values`"),
    ],
)
async def test_without_knowing_the_state_nothing_is_changed(
    fault: Fault, words: str, adapter: HttpAdapter, cms: Cms
) -> None:
    cms.reading_faults.append(fault)
    with pytest.raises(CmsError, match=words):
        await adapter.apply(CONTEXT, change(cms.make()))
    assert cms.changing == []


async def test_what_is_sent(adapter: HttpAdapter, cms: Cms) -> None:
    entity = cms.make("a b/c")
    await adapter.apply(CONTEXT, change(entity, version=1))
    [request] = cms.changing
    assert request.raw_path == "/a%20b%2Fc/1/publish"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    body = cms.bodies[cms.requests.index(request)]
    assert json.loads(body) == {"version": 1, "by": "ann at 2027-03-01T09:00:00Z"}


async def test_a_status_may_say_that_it_was_so(cms: Cms, services: AdapterServices) -> None:
    config = {**CONFIG, "publish": {**CONFIG["publish"], "no_op": [409]}}
    adapter = HttpAdapter(read({**config, "url": cms.url}), services)
    cms.faults.append(saying(409))
    assert (await adapter.apply(CONTEXT, change(cms.make()))).effect == "no_op"


async def test_a_new_version_of_what_is_out_goes_out(adapter: HttpAdapter, cms: Cms) -> None:
    entity = cms.make()
    effects = [(await adapter.apply(CONTEXT, change(entity))).effect for _ in range(2)]
    cms.edit(entity)
    effects += [(await adapter.apply(CONTEXT, change(entity))).effect for _ in range(2)]
    assert effects == ["changed", "no_op", "changed", "no_op"]
    [standing] = (await adapter.state(CONTEXT, [entity])).values()
    assert (standing.published_version, standing.latest_version) == (2, 2)


async def test_a_scheduler_of_the_site_is_warned_of(adapter: HttpAdapter, cms: Cms) -> None:
    entity = cms.make()
    cms.posts[entity.id]["status"] = "scheduled"
    [finding] = await adapter.check(CONTEXT, [change(entity)])
    assert (finding.code, finding.warning) == ("own_schedule", True)
    assert (await adapter.apply(CONTEXT, change(entity))).effect == "changed"


async def test_what_is_deleted_to_be_archived_is_deleted_once(cms: Cms, services: AdapterServices) -> None:
    config = {**CONFIG, "archive": {"method": "DELETE", "path": "/posts/{{entity_id}}/delete"}}
    adapter = HttpAdapter(read({**config, "url": cms.url}), services)
    entity = cms.make()

    async def delete(request: web.Request, answer: Handler) -> web.StreamResponse:
        del cms.posts[entity.id]
        return web.Response(status=204)

    cms.faults.append(delete)
    done = [await adapter.apply(CONTEXT, change(entity, Action.ARCHIVE)) for _ in range(2)]
    assert [each.effect for each in done] == ["changed", "no_op"]
    assert [each.state_after for each in done] == [EntityState.ARCHIVED] * 2


async def test_a_host_that_is_down_is_not_asked_all_the_time(cms: Cms) -> None:
    async with lending(http_breaker_failures=2) as services:
        adapter = HttpAdapter(read({**CONFIG, "url": cms.url}), services)
        cms.reading_faults += [saying(500)] * 2
        for _ in range(2):
            with pytest.raises(CmsError):
                await adapter.apply(CONTEXT, change(cms.make()))
        with pytest.raises(NotNow) as busy:
            await adapter.apply(CONTEXT, change(cms.make()))
        assert busy.value.seconds > 0
        assert len(cms.requests) == 2


async def test_private_addresses_may_be_closed(cms: Cms) -> None:
    async with lending(egress_private="refuse") as services:
        adapter = HttpAdapter(read({**CONFIG, "url": cms.url}), services)
        with pytest.raises(NotPossible, match=r"127\.0\.0\.1"):
            await adapter.apply(CONTEXT, change(cms.make()))
    assert cms.requests == []


async def test_secrets_go_to_their_hosts_only(cms: Cms) -> None:
    async with lending(binding=Binding(hosts=("cms.example",))) as services:
        adapter = HttpAdapter(read({**CONFIG, "url": cms.url}), services)
        with pytest.raises(SecretError, match=r"is for hosts cms\.example"):
            await adapter.apply(CONTEXT, change(cms.make()))
    assert cms.requests == []


async def test_what_the_site_says_names_no_secret(cms: Cms, services: AdapterServices) -> None:
    """A site that answers with a placeholder gets it back as it is."""
    config = {
        **CONFIG,
        "publish": {"path": "/posts/{{entity_id}}/publish", "body": {"at": "at {{state.post.id}}"}},
    }
    adapter = HttpAdapter(read({**config, "url": cms.url}), services)
    entity = cms.make()
    cms.posts[entity.id]["id"] = "${secret:ghost}"
    await adapter.apply(CONTEXT, change(entity))
    assert json.loads(cms.bodies[cms.requests.index(cms.changing[0])]) == {"at": "at ${secret:ghost}"}


async def test_a_collision_in_ghost_is_tried_again() -> None:
    cms = Ghost()
    async with serving(cms) as url, lending() as services:
        config = {"preset": "ghost", "url": url, "auth": {"ghost": "${secret:ghost}"}}
        adapter = HttpAdapter(read(config), services)
        entity = cms.make("page")

        async def edit_first(request: web.Request, answer: Handler) -> web.StreamResponse:
            cms.posts[entity.id]["updated_at"] = "5"
            return await answer(request)

        cms.faults.append(edit_first)
        with pytest.raises(CmsError, match="UpdateCollisionError"):
            await adapter.apply(CONTEXT, change(entity))
        assert (await adapter.apply(CONTEXT, change(entity))).effect == "changed"
        assert {request.headers["Accept-Version"] for request in cms.requests} == {"v5.0"}


async def test_a_changed_draft_in_strapi_goes_out() -> None:
    cms = Strapi()
    async with serving(cms) as url, lending() as services:
        adapter = HttpAdapter(read({"preset": "strapi", "url": url}), services)
        entity = cms.make("articles")
        effects = [(await adapter.apply(CONTEXT, change(entity))).effect for _ in range(2)]
        cms.edit(entity)
        effects.append((await adapter.apply(CONTEXT, change(entity))).effect)
        assert effects == ["changed", "no_op", "changed"]
        assert (
            await adapter.apply(CONTEXT, change(entity, Action.UNPUBLISH))
        ).state_after == EntityState.DRAFT


@pytest.mark.parametrize(
    ("config", "field", "hint"),
    [
        ({**BAD, "url": "ftp://cms.example"}, "config.url", "https://host"),
        ({**BAD, "url": "https://ann:pw@cms.example"}, "config.url", "fields of their own"),
        ({**BAD, "auth": {"bearer": "plain"}}, "config.auth.bearer", "${secret:NAME}"),
        ({**BAD, "auth": {"user": "ann"}}, "config.auth", "bearer"),
        ({**BAD, "auth": {"user": "ann", "password": "pw"}}, "config.auth.password", "sexton secret set"),
        ({**BAD, "publish": {"path": "publish"}}, "config.publish.path", "begin it with /"),
        ({**BAD, "publish": {"path": "/{{id}}"}}, "config.publish.path", "entity_id"),
        ({**BAD, "state": {"path": "/{{state.x}}"}}, "config.state.path", "entity_id"),
        ({**BAD, "publish": {"path": "/", "body": {"a": ["{{b}}"]}}}, "config.publish.body", "entity_id"),
        (
            {**BAD, "publish": {"path": "/", "headers": {"Host": "x"}}},
            "config.publish.headers",
            "leave it out",
        ),
        ({**BAD, "headers": {"X": "${secret:a b}"}}, "config.headers", "letters"),
        ({**BAD, "state": None}, "config.state", "/posts/{{entity_id}}"),
        ({"url": "https://cms.example", "state": {"path": "/"}}, "config.publish", "a preset"),
        ({**BAD, "timeout_seconds": 0}, "config.timeout_seconds", ""),
        ({**BAD, "preset": "drupal"}, "config.preset", "strapi"),
        ({**BAD, "nonsense": 1}, "config.nonsense", ""),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], field: str, hint: str) -> None:
    with pytest.raises(InvalidField) as refusal:
        read_config("http", config)
    assert refusal.value.field == field
    assert hint in (refusal.value.hint or "")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("a.b.1", 3),
        ("*.c", None),
        ("a.b.*", None),
        ("a.x", None),
        ("a.b.9", None),
        ("a.b.x", None),
        ("*.b.0", 2),
    ],
)
def test_a_path_into_an_answer(place: str, value: int | None) -> None:
    found = look_up({"a": {"b": [2, 3]}}, place)
    assert found == value if value is not None else not isinstance(found, int)


async def test_why_a_state_cannot_be_known_is_said_as_it_is(adapter: HttpAdapter, cms: Cms) -> None:
    entities = [cms.make(), cms.make()]
    cms.reading_faults[:] = [saying(401), saying(401)]
    with pytest.raises(NotPossible, match="HTTP 401"):
        await adapter.state(CONTEXT, entities)
    cms.reading_faults[:] = [saying(503)]
    with pytest.raises(CmsError, match="HTTP 503"):
        await adapter.check(CONTEXT, [change(entities[0])])
