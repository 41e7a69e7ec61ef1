"""The configuration of the adapter `http`: the requests of a CMS, and how its answers are read.

Texts may contain `{{name}}` for values of the action, and `${secret:name}`. A path into an answer is written
with dots: `posts.0.status`; a `*` matches the only name of an object.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sexton.content.adapters.cms_api import check_secret, check_site
from sexton.content.model import Action, EntityState
from sexton.errors import InvalidField
from sexton.refusal import about
from sexton.security.placeholder import secret_names

NAMES = ("entity_type", "entity_id", "action", "version", "key", "scheduled_at", "actor")
HOLE = re.compile(r"\{\{\s*([\w.*-]+)\s*\}\}")
SECURE = ("content-length", "transfer-encoding", "connection", "host", "idempotency-key")

Path = Annotated[str, Meta(min_length=1, max_length=2000, description="Below the address of the site.")]
Headers = Annotated[dict[str, str], about("Sent along.")]
JsonPath = Annotated[str, Meta(min_length=1, max_length=500)]
Statuses = Annotated[list[Annotated[int, Meta(ge=100, le=599)]], Meta(max_length=50)]


class HttpAuth(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the adapter authenticates: one of these."""

    bearer: Annotated[str | None, about("The secret that is sent as a bearer token: ${secret:name}.")] = None
    user: Annotated[str | None, about("With `password`: the user of HTTP's basic scheme.")] = None
    password: Annotated[str | None, about("Its password: ${secret:name}.")] = None
    ghost: Annotated[str | None, about("The Admin API key of Ghost: ${secret:name}.")] = None

    def __post_init__(self) -> None:
        for name in ("bearer", "password", "ghost"):
            if (value := getattr(self, name)) is not None:
                check_secret(value, f"config.auth.{name}")
        given = [name for name in ("bearer", "password", "ghost") if getattr(self, name) is not None]
        if len(given) != 1 or (self.user is not None) != ("password" in given):
            raise InvalidField(
                "bad_value",
                "auth must have one of bearer, ghost, or user with password",
                field="config.auth",
                hint='write {"bearer": "${secret:cms}"}',
            )


class ContentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request that carries out an action."""

    path: Path
    method: Annotated[Literal["POST", "PUT", "PATCH", "DELETE"], about("POST, PUT, PATCH or DELETE.")] = (
        "POST"
    )
    headers: Headers = {}
    body: Annotated[Any, about("Sent as JSON; null: nothing is sent.")] = None
    success: Annotated[Statuses | None, about("Statuses of a success. Default: 200 to 299.")] = None
    no_op: Annotated[Statuses, about("Statuses that mean that nothing had to change.")] = []
    confirm: Annotated[
        dict[JsonPath, Any],
        about("Values that the answer must have, by path: otherwise the action failed."),
    ] = {}


class StateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request that tells how an entity is. 404 and 410 say that it is not there."""

    path: Path
    headers: Headers = {}
    state: Annotated[
        JsonPath | None,
        about("The path of the state in the answer. Without it, an existing entity is a draft."),
    ] = None
    values: Annotated[
        dict[EntityState, list[Any]],
        about("The values for draft, published, unpublished and archived. Default: these words."),
    ] = {}
    held: Annotated[
        list[Any], about("The value if a scheduler of the site holds the entity; it counts as a draft.")
    ] = []
    version: Annotated[JsonPath | None, about("The path of the latest version in the answer.")] = None
    published_version: Annotated[
        JsonPath | None, about("The path of the published version in the answer.")
    ] = None


class PublishedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """For sites that keep what is out apart: the request that finds it. 404 and 410: it is not out."""

    path: Path
    headers: Headers = {}
    version: Annotated[JsonPath | None, about("The path of the published version in the answer.")] = None


class HttpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A CMS with an HTTP API."""

    url: Annotated[str, Meta(max_length=2000, description="Where the API is: https://host/path.")]
    preset: Annotated[
        Literal["strapi", "ghost"] | None,
        about("strapi or ghost: fields that are left out come from it."),
    ] = None
    auth: Annotated[HttpAuth | None, about("How the adapter authenticates.")] = None
    headers: Annotated[dict[str, str], about("Sent with every request.")] = {}
    timeout_seconds: Annotated[float, Meta(ge=1, le=300, description="How long an answer may take.")] = 30
    state: Annotated[StateRequest | None, about("The request for the state of an entity.")] = None
    published: Annotated[
        PublishedRequest | None, about("The request for the published version, if it is kept apart.")
    ] = None
    publish: Annotated[ContentRequest | None, about("The request that publishes.")] = None
    unpublish: Annotated[ContentRequest | None, about("The request that unpublishes.")] = None
    archive: Annotated[ContentRequest | None, about("The request that archives.")] = None

    def __post_init__(self) -> None:
        check_site(self.url, "config.url")
        _check_headers(self.headers, "config.headers")
        for name in ("state", "published", *Action):
            if (request := getattr(self, name)) is not None:
                _check_request(request, f"config.{name}", answered=name in tuple(Action))
        if self.preset is None and not any(getattr(self, name) for name in Action):
            raise _missing("publish", "no action is described", "/posts/{{entity_id}}/publish")
        if self.preset is None and self.state is None:
            why = "without `state` the adapter cannot tell whether a repeated action has had its effect"
            raise _missing("state", why, "/posts/{{entity_id}}")

    def filled(self) -> HttpConfig:
        """The configuration, completed from its preset."""
        if self.preset is None:
            return self
        given = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        preset = PRESETS[self.preset]
        given["headers"] = {**preset.get("headers", {}), **self.headers}
        return HttpConfig(**{**preset, **given})


def _missing(name: str, why: str, path: str) -> InvalidField:
    hint = f'add {{"path": "{path}"}}, or a preset'
    return InvalidField("missing_field", why, field=f"config.{name}", hint=hint)


def _check_request(
    request: ContentRequest | StateRequest | PublishedRequest, field: str, *, answered: bool
) -> None:
    if not request.path.startswith("/") or re.search(r"[\s\\]", HOLE.sub("", request.path)):
        raise InvalidField(
            "bad_path", f"{request.path!r} is not a path", field=f"{field}.path", hint="begin it with /"
        )
    _check_headers(request.headers, f"{field}.headers")
    for name in request.__struct_fields__:
        if name != "headers":
            _check_holes(msgspec.to_builtins(getattr(request, name)), f"{field}.{name}", answered)


def _check_headers(headers: dict[str, str], field: str) -> None:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n\0]", value):
            raise InvalidField(
                "bad_header",
                f"{name!r} is not a header",
                field=field,
                hint="use a name such as X-Tenant, and a value on one line",
            )
        if name.lower() in SECURE:
            raise InvalidField(
                "bad_header", f"Sexton sets the header {name} itself", field=field, hint="leave it out"
            )
        _check_holes(value, field, answered=False)


def _check_holes(value: Any, field: str, answered: bool) -> None:
    """Refuse names without a value."""
    match value:
        case str():
            secret_names(value, field)
            for name in HOLE.findall(value):
                if name not in NAMES and not (answered and name.startswith("state.")):
                    raise InvalidField(
                        "bad_template",
                        f"there is no value for {{{{{name}}}}}",
                        field=field,
                        hint=f"use {', '.join(NAMES)}" + (", or state.… of its answer" if answered else ""),
                    )
        case dict():
            for name, each in value.items():
                _check_holes(name, field, answered)
                _check_holes(each, field, answered)
        case list():
            for each in value:
                _check_holes(each, field, answered)


def _ghost(status: str) -> ContentRequest:
    """Ghost refuses a change with an old `updated_at`: then another change came first."""
    change = {"status": status, "updated_at": "{{state.*.0.updated_at}}"}
    return ContentRequest(
        method="PUT",
        path="/ghost/api/admin/{{entity_type}}s/{{entity_id}}/",
        body={"{{entity_type}}s": [change]},
        confirm={"*.0.status": status},
    )


PRESETS: dict[str, dict[str, Any]] = {
    # Strapi 5: a document has a draft, and what is out beside it. Entity types are plural API ids. Its REST
    # API cannot unpublish: docs/adapters.md has the route that a project adds.
    "strapi": {
        "state": StateRequest(
            path="/api/{{entity_type}}/{{entity_id}}?status=draft", version="data.updatedAt"
        ),
        "published": PublishedRequest(
            path="/api/{{entity_type}}/{{entity_id}}?status=published", version="data.updatedAt"
        ),
        "publish": ContentRequest(
            method="PUT", path="/api/{{entity_type}}/{{entity_id}}?status=published", body={"data": {}}
        ),
        "unpublish": ContentRequest(path="/api/{{entity_type}}/{{entity_id}}/unpublish"),
    },
    # Ghost 5 and newer: entity types are post and page.
    "ghost": {
        "headers": {"Accept-Version": "v5.0"},
        "state": StateRequest(
            path="/ghost/api/admin/{{entity_type}}s/{{entity_id}}/?fields=id,status,updated_at",
            state="*.0.status",
            values={EntityState.PUBLISHED: ["published", "sent"], EntityState.DRAFT: ["draft"]},
            held=["scheduled"],
        ),
        "publish": _ghost("published"),
        "unpublish": _ghost("draft"),
    },
}
