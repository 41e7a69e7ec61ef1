"""Templates: the texts of messages, with versions, by language and channel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any

import asyncpg
import msgspec
from jinja2.exceptions import TemplateError
from msgspec import UNSET

from sexton.errors import InvalidField
from sexton.notifications.spec import TemplateSort, TemplateSpec, VariableSpec
from sexton.notifications.templates.aside import aside
from sexton.notifications.templates.mjml import to_html
from sexton.notifications.templates.rendering import (
    KNOWN,
    NotRendered,
    TextCompiler,
    known_locale,
    refused,
)
from sexton.notifications.templates.sandbox import code_length
from sexton.postgres.estimate import Total, total
from sexton.postgres.jsonb import json_text
from sexton.postgres.page import LAST_CHARACTER, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found, refuse_nul

CHANNELS = ("email", "sms", "push", "in_app")
DEFAULTS = ("urgency", "expires_seconds", "topic")
LARGEST = 512 * 1024
LARGEST_VARS = 64 * 1024
# Characters in tags, of all texts together.
MOST_CODE = 128 * 1024
OWN_DEFAULT = ""

Parts = Mapping[str, Mapping[str, Mapping[str, str]]]


class TemplateView(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a template."""

    template_id: Annotated[str, about("The template's id.")]
    version: Annotated[int, about("The version.")]
    latest_version: Annotated[int, about("The latest version.")]
    locales: Annotated[
        dict[str, Any], about("The texts, by language (`default`: of all others) and channel.")
    ]
    variables: Annotated[dict[str, Any], about("The variables.")]
    urgency: Annotated[str | None, about("That of messages that do not say.")] = None
    expires_seconds: Annotated[int | None, about("How late messages may be that do not say.")] = None
    topic: Annotated[str | None, about("That of messages that do not say.")] = None
    created_by: Annotated[str, about("Who wrote this version.")]
    created_at: Annotated[datetime, about("When it was written.")]
    deleted_at: Annotated[datetime | None, about("When the template was deleted.")] = None


class TemplateVersionView(msgspec.Struct, frozen=True, kw_only=True):
    """A version in a list."""

    version: Annotated[int, about("The version.")]
    locales: Annotated[list[str], about("Its languages.")]
    created_by: Annotated[str, about("Who wrote it.")]
    created_at: Annotated[datetime, about("When.")]


class StoredTemplate:
    """A version from the database, with the methods for scheduling and sending."""

    __slots__ = ("defaults", "latest", "parts", "template_id", "variables", "version")

    def __init__(self, row: Mapping[str, Any] | asyncpg.Record) -> None:
        self.template_id: str = row["template_id"]
        self.version: int = row["version"]
        self.latest: int = row["latest"]
        self.parts: Parts = msgspec.json.decode(row["parts"])
        self.variables: dict[str, VariableSpec] = msgspec.json.decode(
            row["variables"], type=dict[str, VariableSpec]
        )
        self.defaults: dict[str, Any] = msgspec.json.decode(row["defaults"])

    def has(self, channel: str) -> bool:
        return any(channel in texts for texts in self.parts.values())

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The given values, and the defaults of the other variables."""
        defaults = {
            name: spec.default
            for name, spec in self.variables.items()
            if name not in given and spec.default is not None
        }
        return {**defaults, **given} if defaults else dict(given)

    def check(self, given: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> None:
        """Refuse values with which the template cannot be sent. `more` are other values, such as the fields
        of the recipient."""
        for name, value in given.items():
            spec = self.variables.get(name)
            if spec is not None:
                _check_type(name, value, spec.type)
        missing = [
            name
            for name, spec in self.variables.items()
            if spec.required and spec.default is None and name not in given and name not in (more or ())
        ]
        if missing:
            raise InvalidField(
                "missing_variable",
                f"the template {self.template_id} needs {', '.join(sorted(missing))}",
                field=f"template_vars.{min(missing)}",
                hint="add it to template_vars (--var NAME=VALUE)",
            )


@command
async def put_template(context: Context, template_id: str, spec: TemplateSpec) -> TemplateView:
    """Write the next version: these texts in one language; other languages stay."""
    check_text(template_id, "template_id", 200)
    before = await context.fetchrow("templates/lock", template_id=template_id)
    old = None if before is None or before["deleted_at"] else await get_stored(context, template_id, None)
    locale, parts, variables, defaults = await aside(next_version, spec, old)
    version = await context.fetchval(
        "templates/put",
        template_id=template_id,
        parts=json_text(parts),
        variables=json_text(variables),
        defaults=json_text(defaults),
    )
    context.changed(
        "template.changed" if old else "template.created",
        template_id,
        detail={"version": version, "locale": locale or "default", "channels": sorted(parts[locale])},
    )
    return await get_template(context, template_id)


def next_version(
    spec: TemplateSpec, old: StoredTemplate | None
) -> tuple[str, Parts, dict[str, VariableSpec], dict[str, Any]]:
    """The next version of a template: the language of these texts, all texts, the variables, the defaults."""
    locale = known_locale(spec.locale) if spec.locale else OWN_DEFAULT
    texts = _texts(spec)
    if not texts:
        raise InvalidField(
            "missing_field", "the template has no texts", field="email",
            hint='such as "email": {"subject": "Hello", "text": "Hello {{ name }}"}',
        )  # fmt: skip
    parts: dict[str, Any] = {**(old.parts if old else {}), locale: texts}
    if len(msgspec.json.encode(parts)) > LARGEST:
        raise InvalidField(
            "too_large", "the template is larger than 512 KiB", field="body", hint="shorten its texts"
        )
    variables, declared = _variables(spec, used_variables(parts), old)
    defaults = {**(old.defaults if old else {}), "declared": declared or None}
    for name in DEFAULTS:
        value = getattr(spec, name)
        if value is not UNSET:
            defaults[name] = value
    return locale, parts, variables, {name: value for name, value in defaults.items() if value is not None}


@query
async def get_template(context: Context, template_id: str, *, version: int | None = None) -> TemplateView:
    return _view(await _row(context, template_id, version))


@query
async def list_templates(
    context: Context,
    *,
    search: str = "",
    sort: TemplateSort = "template_id",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[TemplateView]:
    """Templates by their ids, or the reverse; `search` is a prefix of the id."""
    rising = sort == "template_id"
    start = "" if rising else LAST_CHARACTER
    rows = await context.fetch(
        "templates/list" if rising else "templates/list_last",
        place=start if cursor is None else decode_cursor(cursor, tuple[str])[0],
        first=search,
        last=search + LAST_CHARACTER,
        limit=limit + 1,
    )
    return make_page([(encode_cursor(row["template_id"]), _view(row)) for row in rows], limit)


@query
async def count_templates(context: Context, *, search: str = "") -> Total:
    """How many have an id that begins with `search`."""
    every = {"namespace": context.namespace, "place": "", "first": search, "last": search + LAST_CHARACTER}
    return await total(context, "templates/list", bound="limit", **every)


@query
async def list_versions(
    context: Context, template_id: str, *, cursor: str | None = None, limit: int = 100
) -> Page[TemplateVersionView]:
    """The latest first."""
    before = 2**31 - 1 if cursor is None else decode_cursor(cursor, tuple[int])[0]
    rows = await context.fetch(
        "templates/list_versions", template_id=template_id, before=before, limit=limit + 1
    )
    if not rows and cursor is None:
        raise not_found("template", template_id)
    found = [
        (
            encode_cursor(row["version"]),
            from_row(
                TemplateVersionView,
                row,
                locales=[locale or "default" for locale in row["locales"]],
            ),
        )
        for row in rows
    ]
    return make_page(found, limit)


@command
async def delete_template(context: Context, template_id: str) -> None:
    """Delete a template: new messages with it are refused, existing ones are still sent."""
    version = await context.fetchval("templates/delete", template_id=template_id)
    if version is None:
        raise not_found("template", template_id)
    context.changed("template.deleted", template_id, detail={"version": version})


@command
async def restore_template(context: Context, template_id: str) -> TemplateView:
    """Take back that a template was deleted. Twice is once."""
    version = await context.fetchval("templates/restore", template_id=template_id)
    if version is not None:
        context.changed("template.restored", template_id, detail={"version": version})
    return await get_template(context, template_id)


def recipient_values(
    user_id: str | None, email: str | None, phone: str | None, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of the recipient in a template."""
    return {"user_id": user_id, "email": email, "phone": phone, "fields": fields, **fields}


def no_texts(template_id: str, channel: str) -> InvalidField:
    return InvalidField(
        "no_texts",
        f"the template {template_id} has no texts for {channel}",
        field="channel",
        hint=f'add them: PUT /api/v1/templates/{template_id} with "{channel}"',
    )


async def read_template(context: Context, template_id: str, version: int | None = None) -> StoredTemplate:
    """The template for a new message. Refuses a deleted one."""
    found = await find_template(context, template_id, version)
    if found is None:
        raise unknown_template(template_id, version)
    return found


def unknown_template(template_id: str, version: int | None) -> InvalidField:
    what = template_id if version is None else f"{template_id} of version {version}"
    return InvalidField(
        "template_not_found",
        f"there is no template {what}",
        field="template_id",
        hint=f"make it: sexton templates put {template_id}, PUT /api/v1/templates/{template_id};"
        " see: sexton templates list",
    )


def used_variables(parts: Parts) -> dict[str, bool]:
    """The variables in texts, each with whether a text requires it. Refuses texts that cannot be compiled."""
    compiler = TextCompiler()
    found: dict[str, bool] = {}
    code = sum(
        code_length(text) for each in parts.values() for texts in each.values() for text in texts.values()
    )
    if code > MOST_CODE:
        raise InvalidField(
            "too_long",
            f"the texts have {code:,} characters in tags",
            field="body",
            hint=f"at most {MOST_CODE:,}: give variables the finished texts",
        )
    for locale, channels in parts.items():
        for channel, texts in channels.items():
            for name, text in texts.items():
                field = f"{channel}.{name}" if not locale else f"{locale}.{channel}.{name}"
                try:
                    compiler.compile(name, text)
                    used = compiler.variables(text)
                except (TemplateError, NotRendered, RecursionError, ValueError) as error:
                    raise refused(error, field) from None
                for variable, needed in used.items():
                    found[variable] = found.get(variable, False) or needed
    return found


async def find_template(
    context: Context, template_id: str, version: int | None = None
) -> StoredTemplate | None:
    """A version, else the latest; None if there is none, or the template was deleted."""
    row = await context.fetchrow("templates/get", template_id=template_id, version=version)
    return None if row is None or row["deleted_at"] is not None else StoredTemplate(row)


async def get_stored(context: Context, template_id: str, version: int | None) -> StoredTemplate:
    return StoredTemplate(await _row(context, template_id, version))


async def _row(context: Context, template_id: str, version: int | None) -> asyncpg.Record:
    ref = template_id if version is None else f"{template_id} of version {version}"
    return await context.require("template", ref, "templates/get", template_id=template_id, version=version)


def _texts(spec: TemplateSpec) -> dict[str, dict[str, str]]:
    texts = {
        channel: msgspec.to_builtins(getattr(spec, channel))
        for channel in CHANNELS
        if getattr(spec, channel) is not None
    }
    for channel, parts in (spec.others or {}).items():
        check_text(channel, "others", 64)
        if channel in CHANNELS:
            raise InvalidField(
                "bad_value", f"{channel} has a field of its own", field=f"others.{channel}",
                hint=f"write it as {channel}",
            )  # fmt: skip
        texts[channel] = parts
    for channel, parts in texts.items():
        parts = {name: text for name, text in parts.items() if text is not None}
        texts[channel] = parts
        refuse_nul(parts, channel)
        if channel in ("email", "in_app") and not parts.keys() - {"subject", "link"}:
            raise InvalidField(
                "missing_field", "there is no text", field=f"{channel}.text", hint="add text or html"
            )
        if "mjml" in parts:
            parts["html"] = to_html(parts["mjml"])
    return texts


def _variables(
    spec: TemplateSpec, used: Mapping[str, bool], old: StoredTemplate | None
) -> tuple[dict[str, VariableSpec], bool]:
    """The declared variables, else those in the texts; and whether they are declared. Without a new
    declaration the old one stays."""
    declared: dict[str, VariableSpec] | None
    if spec.variables is UNSET:
        declared = dict(old.variables) if old is not None and old.defaults.get("declared") else None
    elif spec.variables is None:
        declared = None
    else:
        declared = {
            name: VariableSpec(type=each) if isinstance(each, str) else each
            for name, each in spec.variables.items()
        }
    if declared is None:
        return {name: VariableSpec(required=needed) for name, needed in used.items()}, False
    for name, each in declared.items():
        if each.type not in TYPES:
            raise InvalidField(
                "bad_value", f"{each.type!r} is not a type", field=f"variables.{name}.type",
                hint=f"use {', '.join(TYPES)}",
            )  # fmt: skip
        for value in (each.default, each.sample):
            if value is not None:
                _check_type(name, value, each.type)
    missing = sorted(used.keys() - declared.keys() - KNOWN)
    if missing:
        raise InvalidField(
            "undeclared_variable",
            f"the texts use {', '.join(missing)}, which variables does not declare",
            field=f"variables.{missing[0]}",
            hint="declare it, or leave variables out",
        )
    return declared, True


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "date": (str,),
    "datetime": (str,),
    "list": (list,),
    "object": (dict,),
    "any": (object,),
}


def _check_type(name: str, value: Any, kind: str) -> None:
    good = isinstance(value, TYPES.get(kind, (object,)))
    if isinstance(value, bool) and kind in ("number", "integer"):
        good = False
    hint = f"give a value of the type {kind}"
    if good and kind in ("date", "datetime"):
        try:
            moment = date.fromisoformat(value) if kind == "date" else datetime.fromisoformat(value)
            good = kind == "date" or (isinstance(moment, datetime) and moment.tzinfo is not None)
        except ValueError:
            good = False
        hint = "such as 2027-03-14" if kind == "date" else "such as 2027-03-14T09:00:00Z"
    if not good:
        raise InvalidField(
            "bad_variable",
            f"{name} is {value!r:.100}, not a {kind}",
            field=f"template_vars.{name}",
            hint=hint,
        )


def sample_of(name: str, spec: VariableSpec) -> Any:
    """The value of a variable in previews."""
    if spec.sample is not None:
        return spec.sample
    samples: dict[str, Any] = {
        "number": 1,
        "integer": 1,
        "boolean": True,
        "date": "2027-03-14",
        "datetime": "2027-03-14T09:00:00Z",
        "list": [],
        "object": {},
    }
    return samples.get(spec.type, f"[{name}]")


def _view(row: asyncpg.Record) -> TemplateView:
    stored = StoredTemplate(row)
    return TemplateView(
        template_id=stored.template_id,
        version=stored.version,
        latest_version=stored.latest,
        locales={locale or "default": texts for locale, texts in stored.parts.items()},
        variables={name: msgspec.to_builtins(spec) for name, spec in stored.variables.items()},
        **{name: stored.defaults.get(name) for name in DEFAULTS},
        created_by=row["created_by"],
        created_at=row["created_at"],
        deleted_at=row["deleted_at"],
    )
