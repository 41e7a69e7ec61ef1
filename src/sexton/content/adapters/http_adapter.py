"""The adapter for any CMS with an HTTP API. Its configuration describes requests and answers.

Before an action it reads the state of the entity and does nothing if the entity already has the wanted state.
So a retry is safe if the answer to a request was lost. The request of an action has the key of its occurrence
as `Idempotency-Key`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import jwt
import msgspec

from sexton import clock
from sexton.content.adapters.base import Adapter, AdapterServices, NotPossible
from sexton.content.adapters.cms_api import ABSENT, CmsAnswer, CmsApi, CmsError
from sexton.content.adapters.http_config import HOLE, ContentRequest, HttpAuth, HttpConfig, StateRequest
from sexton.content.model import (
    AFTER,
    Action,
    Applied,
    ContentChange,
    ContentFinding,
    Entity,
    EntityState,
    Standing,
)
from sexton.errors import InvalidField
from sexton.postgres.transaction import Context
from sexton.security.placeholder import PLACEHOLDER
from sexton.targets.http.step import header_text
from sexton.targets.template import text_of

AT_ONCE = 8
# How long Ghost accepts a token.
TOKEN_SECONDS = 300
NOTHING = object()


@dataclass(frozen=True, slots=True)
class HttpStanding:
    """The state of an entity, its versions as the site writes them, and the whole answer of the site."""

    state: EntityState
    held: bool
    latest: Any
    published: Any
    answer: Any

    @property
    def is_latest(self) -> bool:
        """Whether the latest version is published, as far as that is known."""
        return self.latest is None or self.published is None or self.latest == self.published


class HttpAdapter(Adapter):
    config = HttpConfig

    def __init__(self, config: HttpConfig, services: AdapterServices) -> None:
        super().__init__(config, services)
        self._config = config.filled()
        self._site = CmsApi(config.url, services, timeout_seconds=config.timeout_seconds)

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        found = await self._standings(context, entities)
        return {
            entity: Standing(each.state, _number(each.published), _number(each.latest))
            for entity, each in found.items()
        }

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        request = self._request(change.action)
        if request is None:
            raise NotPossible(self._no_action(change.action))
        if change.version is not None and not self._takes_version(change.action):
            raise NotPossible(f"the configuration has no {{{{version}}}}: {change.entity} goes out as it is")
        before = await self._standing(context, change.entity)
        if before is None and change.action == Action.ARCHIVE and request.method == "DELETE":
            return Applied(effect="no_op", state_after=EntityState.ARCHIVED)
        if before is None:
            raise NotPossible(f"there is no {change.entity}")
        if self._is_so(before, change):
            return _applied("no_op", before, before.state, change)
        if before.state == EntityState.ARCHIVED:
            raise NotPossible(f"{change.entity} is archived")
        effect = await self._carry_out(context, request, change, before)
        after = before.state if effect == "no_op" else await self._state_after(context, change)
        return _applied(effect, before, after, change)

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        known = await self._standings(context, [change.entity for change in changes])
        found: list[ContentFinding] = []
        for change in changes:
            entity, standing = change.entity, known.get(change.entity)
            if self._request(change.action) is None:
                found.append(ContentFinding(entity, "no_action", self._no_action(change.action)))
            elif standing is None:
                found.append(ContentFinding(entity, "no_entity", f"there is no {entity}"))
            elif change.version is not None and not self._takes_version(change.action):
                text = f"the configuration has no {{{{version}}}}: {entity} goes out as it is"
                found.append(ContentFinding(entity, "no_version", text))
            elif change.version is not None and change.version > (_number(standing.latest) or change.version):
                text = f"{entity} has no version {change.version}"
                found.append(ContentFinding(entity, "no_version", text))
            elif standing.state == EntityState.ARCHIVED and change.action != Action.ARCHIVE:
                found.append(ContentFinding(entity, "archived", f"{entity} is archived"))
            elif standing.held:
                text = f"a scheduler of the site holds {entity}, too"
                found.append(ContentFinding(entity, "own_schedule", text, warning=True))
        return found

    async def close(self) -> None:
        """The HTTP client belongs to the process."""

    def _request(self, action: Action) -> ContentRequest | None:
        request: ContentRequest | None = getattr(self._config, action.value)
        return request

    def _no_action(self, action: Action) -> str:
        return f"the configuration does not say how to {action} on {self._site.url}"

    def _takes_version(self, action: Action) -> bool:
        """Whether the request of an action can name a version. Only publishing has one."""
        request = self._request(action)
        return action != Action.PUBLISH or "version" in HOLE.findall(str(msgspec.to_builtins(request)))

    def _is_so(self, standing: HttpStanding, change: ContentChange) -> bool:
        if change.action == Action.UNPUBLISH:
            return standing.state in (EntityState.UNPUBLISHED, EntityState.DRAFT)
        if standing.state != AFTER[change.action]:
            return False
        if change.action != Action.PUBLISH:
            return True
        if change.version is not None:
            return str(standing.published) == str(change.version)
        return standing.is_latest

    async def _standings(self, context: Context, entities: Sequence[Entity]) -> dict[Entity, HttpStanding]:
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(entity: Entity) -> HttpStanding | None:
            async with slots:
                return await self._standing(context, entity)

        wanted = list(dict.fromkeys(entities))
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(ask(entity)) for entity in wanted]
        except ExceptionGroup as errors:
            # The first error decides whether the run is retried; the other requests were stopped.
            raise errors.exceptions[0] from None
        found = zip(wanted, (task.result() for task in asked), strict=True)
        return {entity: standing for entity, standing in found if standing is not None}

    async def _standing(self, context: Context, entity: Entity) -> HttpStanding | None:
        request = self._config.state
        assert request is not None, "a configuration without it is refused"
        values = {"entity_type": entity.type, "entity_id": entity.id}
        answer = await self._send(context, "GET", request.path, request.headers, values)
        if not answer.exists():
            return None
        data = answer.json()
        state, held = _read_state(request, data, answer)
        published = _at(data, request.published_version, answer)
        if self._config.published is not None:
            there = self._config.published
            found = await self._send(context, "GET", there.path, there.headers, values)
            if found.exists():
                state, published = EntityState.PUBLISHED, _at(found.json(), there.version, found)
        return HttpStanding(state, held, _at(data, request.version, answer), published, data)

    async def _carry_out(
        self, context: Context, request: ContentRequest, change: ContentChange, before: HttpStanding
    ) -> str:
        values = {
            "entity_type": change.entity.type,
            "entity_id": change.entity.id,
            "action": change.action.value,
            "version": change.version,
            "key": change.key,
            "scheduled_at": clock.iso(change.scheduled_at),
            "actor": change.actor,
            "state": before.answer,
        }
        headers = {**request.headers, "Idempotency-Key": header_text(change.key)}
        answer = await self._send(context, request.method, request.path, headers, values, request.body)
        if answer.status in request.no_op:
            return "no_op"
        if answer.status not in request.success if request.success is not None else not answer.good:
            if answer.status in ABSENT:
                raise NotPossible(f"{answer.request}: HTTP {answer.status}: there is no {change.entity}")
            raise answer.refuse()
        data = answer.json() if request.confirm else None
        for place, wanted in request.confirm.items():
            if (got := _at(data, place, answer)) != wanted:
                raise CmsError(
                    f"{answer.request} answered {answer.status}, but {place} is {got!r}, not {wanted!r}"
                )
        return "changed"

    async def _state_after(self, context: Context, change: ContentChange) -> EntityState:
        """The state after the action. Raises if the site reported success but the state is wrong."""
        now = await self._standing(context, change.entity)
        wanted = AFTER[change.action]
        if now is None:
            # Many sites archive an entity by deleting it.
            if change.action == Action.ARCHIVE:
                return wanted
            raise CmsError(f"{change.entity} no longer exists after {change.action}")
        if now.state != wanted and not (change.action == Action.UNPUBLISH and now.state == EntityState.DRAFT):
            raise CmsError(f"the site accepted to {change.action} {change.entity}, but it is {now.state}")
        return now.state

    async def _send(
        self,
        context: Context,
        method: str,
        path: str,
        headers: Mapping[str, str],
        values: Mapping[str, Any],
        body: Any = None,
    ) -> CmsAnswer:
        reveal = _Filler(self._site, context, values)
        every = {**self._config.headers, **headers}
        sent = {name: await reveal.text(value, header_text) for name, value in every.items()}
        if self._config.auth is not None:
            sent["Authorization"] = await self._authorization(context, self._config.auth)
        data = b"" if body is None else msgspec.json.encode(await reveal.value(body))
        return await self._site.send(
            context, method, await reveal.text(path, _quoted), headers=sent, body=data
        )

    async def _authorization(self, context: Context, auth: HttpAuth) -> str:
        if auth.bearer is not None:
            return f"Bearer {await self._site.secret(context, auth.bearer)}"
        if auth.ghost is not None:
            return f"Ghost {_ghost_token(await self._site.secret(context, auth.ghost))}"
        return basic(auth.user or "", await self._site.secret(context, auth.password or ""))


class _Filler:
    """Fills in templates. Values are never searched for placeholders of secrets."""

    def __init__(self, site: CmsApi, context: Context, values: Mapping[str, Any]) -> None:
        self._site = site
        self._context = context
        self._values = values

    async def text(self, template: str, encode: Callable[[str], str]) -> str:
        done = ""
        for number, part in enumerate(PLACEHOLDER.split(template)):
            if number % 2:
                done += await self._site.secret(self._context, f"${{secret:{part}}}")
            else:
                done += HOLE.sub(lambda found: encode(text_of(self._value(found[1]))), part)
        return done

    async def value(self, value: Any) -> Any:
        """Fill in the texts of a JSON value. A text that is only one name becomes the value, with its
        type."""
        match value:
            case str():
                whole = HOLE.fullmatch(value)
                return self._value(whole[1]) if whole else await self.text(value, str)
            case list():
                return [await self.value(each) for each in value]
            case dict():
                return {await self.text(name, str): await self.value(each) for name, each in value.items()}
        return value

    def _value(self, name: str) -> Any:
        found = look_up(self._values, name)
        if found is NOTHING:
            raise CmsError(f"the answer with the state of the entity has no {name.removeprefix('state.')}")
        return found


def look_up(data: Any, place: str) -> Any:
    """The value at a path in an answer, or NOTHING."""
    for part in place.split("."):
        match data:
            case Mapping() if part in data:
                data = data[part]
            case Mapping() if part == "*" and len(data) == 1:
                [data] = data.values()
            case list() if part.isdecimal() and int(part) < len(data):
                data = data[int(part)]
            case _:
                return NOTHING
    return data


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _at(data: Any, place: str | None, answer: CmsAnswer) -> Any:
    if place is None:
        return None
    found = look_up(data, place)
    if found is NOTHING:
        raise CmsError(f"{answer.request} answered {answer.status} without {place}{answer.shown}")
    return found


def _read_state(request: StateRequest, data: Any, answer: CmsAnswer) -> tuple[EntityState, bool]:
    if request.state is None:
        return EntityState.DRAFT, False
    value = _at(data, request.state, answer)
    if value in request.held:
        return EntityState.DRAFT, True
    for state in EntityState:
        if value in request.values.get(state, () if request.values else (state.value,)):
            return state, False
    raise CmsError(f"{answer.request} answered that {request.state} is {value!r}, which is not in `values`")


def _applied(effect: str, before: HttpStanding, after: EntityState, change: ContentChange) -> Applied:
    version = change.version if change.action == Action.PUBLISH else None
    return Applied(effect=effect, state_before=before.state, state_after=after, version=version)


def _ghost_token(key: str) -> str:
    """A new token for each request: Ghost accepts a token for five minutes."""
    name, _, secret = key.strip().partition(":")
    try:
        signing = bytes.fromhex(secret)
    except ValueError:
        signing = b""
    if not name or not signing:
        raise InvalidField(
            "bad_secret",
            "the Admin API key of Ghost is not of the form id:secret, with a secret in hexadecimal digits",
            field="config.auth.ghost",
            hint="copy it from the integration in Ghost's settings",
        )
    now = int(clock.now().timestamp())
    claims = {"iat": now, "exp": now + TOKEN_SECONDS, "aud": "/admin/"}
    return jwt.encode(claims, signing, algorithm="HS256", headers={"kid": name})


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _quoted(text: str) -> str:
    return quote(text, safe="")
