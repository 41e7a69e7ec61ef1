"""Posts, pages and other types of WordPress, by its REST API with an application password.

Unpublishing makes a post a draft; archiving makes it private or moves it to the trash. A version is a
revision. WordPress publishes only the present content, so publishing a version first copies the revision into
the post.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.content.adapters.base import Adapter, AdapterServices, NotPossible
from sexton.content.adapters.cms_api import CmsApi, CmsError, check_secret, check_site
from sexton.content.adapters.http_adapter import basic
from sexton.content.model import Action, Applied, ContentChange, ContentFinding, Entity, EntityState, Standing
from sexton.postgres.transaction import Context
from sexton.refusal import about
from sexton.targets.http.step import header_text

USUAL = {"post": "posts", "page": "pages"}
#: The fields of a post that a revision has.
HELD = ("title", "content", "excerpt")
#: The status of a post that WordPress itself will publish.
FUTURE = "future"
GONE = 410
LONGEST_ID = 18


class WordPressConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A WordPress site."""

    url: Annotated[
        str, Meta(max_length=2000, description="The address of the site: https://blog.example.com.")
    ]
    user: Annotated[str, Meta(min_length=1, max_length=200, description="A user who may edit and publish.")]
    password: Annotated[str, about("The user's application password: ${secret:name}.")]
    archive: Annotated[
        Literal["private", "trash"], about("What archiving makes of a post: private, or trash.")
    ] = "private"
    timeout_seconds: Annotated[float, Meta(ge=1, le=300, description="How long an answer may take.")] = 30

    def __post_init__(self) -> None:
        check_site(self.url, "config.url")
        check_secret(self.password, "config.password")


class WordPressAdapter(Adapter):
    config = WordPressConfig

    def __init__(self, config: WordPressConfig, services: AdapterServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._api = CmsApi(config.url, services, timeout_seconds=config.timeout_seconds)
        self._bases = dict(USUAL)

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        found = {}
        for entity in dict.fromkeys(entities):
            post = await self._post(context, entity)
            if post is not None:
                found[entity] = Standing(self._state_of(post))
        return found

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        post = await self._post(context, change.entity)
        if post is None:
            raise NotPossible(f"there is no {change.entity}")
        before = self._state_of(post)
        fields = await self._fields(context, change, post)
        wanted = self._status(change.action)
        so = before == EntityState.ARCHIVED if change.action == Action.ARCHIVE else post["status"] == wanted
        if change.action == Action.UNPUBLISH:
            so = before in (EntityState.DRAFT, EntityState.UNPUBLISHED)
        if so and all(post[name]["raw"] == text for name, text in fields.items()):
            return _applied("no_op", before, before, change)
        if before == EntityState.ARCHIVED:
            raise NotPossible(f"{change.entity} is archived ({post['status']})")
        if wanted == "trash":
            await self._trash(context, change)
        else:
            await self._update(context, change, post, {**fields, "status": wanted})
        after = await self._post(context, change.entity)
        if after is None or after["status"] != wanted:
            got = "gone" if after is None else after["status"]
            raise CmsError(f"WordPress accepted to {change.action} {change.entity}, but it is {got}")
        return _applied("changed", before, self._state_of(after), change)

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        found: list[ContentFinding] = []
        for change in changes:
            entity, post = change.entity, await self._post(context, change.entity)
            if post is None:
                found.append(ContentFinding(entity, "no_entity", f"there is no {entity}"))
                continue
            if self._state_of(post) == EntityState.ARCHIVED and change.action != Action.ARCHIVE:
                text = f"{entity} is archived ({post['status']})"
                found.append(ContentFinding(entity, "archived", text))
                continue
            try:
                await self._fields(context, change, post)
            except NotPossible as why:
                found.append(ContentFinding(entity, "no_version", str(why)))
            if post["status"] == FUTURE:
                text = f"WordPress itself is to publish {entity} at {post.get('date_gmt')} UTC"
                found.append(ContentFinding(entity, "own_schedule", text, warning=True))
        return found

    async def close(self) -> None:
        """The HTTP client belongs to the process."""

    def _status(self, action: Action) -> str:
        return {Action.PUBLISH: "publish", Action.UNPUBLISH: "draft"}.get(action, self._config.archive)

    def _state_of(self, post: Mapping[str, Any]) -> EntityState:
        match post["status"]:
            case "publish":
                return EntityState.PUBLISHED
            case "trash" | self._config.archive:
                return EntityState.ARCHIVED
            case "private":
                return EntityState.UNPUBLISHED
        return EntityState.DRAFT

    async def _post(self, context: Context, entity: Entity) -> dict[str, Any] | None:
        """The post as its editor sees it; None if it does not exist."""
        base = await self._base(context, entity.type)
        if base is None or not _is_number(entity.id):
            return None
        answer = await self._send(context, "GET", f"{base}/{entity.id}", query="context=edit")
        if not answer.exists():
            return None
        return _object(answer.json(), ("status", *(HELD[:2])), answer.request)

    async def _fields(
        self, context: Context, change: ContentChange, post: Mapping[str, Any]
    ) -> dict[str, str]:
        """The fields of the given version that the post has too; empty without a version."""
        if change.version is None or change.action != Action.PUBLISH:
            return {}
        base = await self._base(context, change.entity.type)
        path = f"{base}/{change.entity.id}/revisions/{change.version}"
        answer = await self._send(context, "GET", path, query="context=edit")
        if not answer.exists():
            raise NotPossible(f"{change.entity} has no revision {change.version}")
        revision = _object(answer.json(), (), answer.request)
        return {name: revision[name]["raw"] for name in HELD if name in revision and name in post}

    async def _update(
        self, context: Context, change: ContentChange, post: Mapping[str, Any], fields: dict[str, Any]
    ) -> None:
        if change.action == Action.PUBLISH and post["status"] == FUTURE:
            # WordPress would schedule a post with a date in the future again.
            fields["date_gmt"] = f"{clock.now():%Y-%m-%dT%H:%M:%S}"
        base = await self._base(context, change.entity.type)
        path = f"{base}/{change.entity.id}"
        answer = await self._send(context, "POST", path, body=msgspec.json.encode(fields), key=change.key)
        if not answer.good:
            raise answer.refuse()

    async def _trash(self, context: Context, change: ContentChange) -> None:
        base = await self._base(context, change.entity.type)
        answer = await self._send(context, "DELETE", f"{base}/{change.entity.id}", key=change.key)
        if not answer.good and answer.status != GONE:
            raise answer.refuse()

    async def _base(self, context: Context, type_: str) -> str | None:
        """The path of the posts of a type; None if the site has no such type, or does not offer it over
        REST."""
        if type_ not in self._bases:
            answer = await self._send(context, "GET", f"types/{quote(type_, safe='')}", query="context=edit")
            if not answer.exists():
                return None
            self._bases[type_] = str(_object(answer.json(), ("rest_base",), answer.request)["rest_base"])
        return self._bases[type_]

    async def _send(
        self, context: Context, method: str, path: str, *, query: str = "", body: bytes = b"", key: str = ""
    ) -> Any:
        """Send a request. The route is in the query, which works with any permalinks of the site."""
        password = await self._api.secret(context, self._config.password)
        headers = {"Authorization": basic(self._config.user, password)}
        if key:
            headers["Idempotency-Key"] = header_text(key)
        where = f"/?rest_route=/wp/v2/{path}" + (f"&{query}" if query else "")
        return await self._api.send(context, method, where, headers=headers, body=body)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_ID


def _object(data: Any, names: Sequence[str], request: str) -> dict[str, Any]:
    if not isinstance(data, dict) or not all(name in data for name in names):
        raise CmsError(f"{request} answered without {', '.join(names) or 'an object'}: is this WordPress?")
    return data


def _applied(effect: str, before: EntityState, after: EntityState, change: ContentChange) -> Applied:
    version = change.version if change.action == Action.PUBLISH else None
    return Applied(effect=effect, state_before=before, state_after=after, version=version)
