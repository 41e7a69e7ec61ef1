"""Refusals: they name the wrong field, and say what to write instead, derived from the field's type."""

from __future__ import annotations

import csv
import difflib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from sexton.errors import InvalidField, NotFound, RefusedLines, SextonError

# The most refused lines of a chunk that are named.
MOST_LINES_NAMED = 100
LARGEST_CONFIG = 64 * 1024
CONFIG_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
EXAMPLE_TIME = "2026-06-08T13:00:00Z"
# Things with an id or a name: the code of the refusal if there is none, and where to look.
THINGS = {
    "job": ("job_not_found", "see: sexton jobs list; deleted ones: --status deleted"),
    "run": ("run_not_found", "see: sexton runs list; runs are kept as long as history"),
    "dead letter": (
        "dead_not_found",
        "see: sexton dead list; the run never died, or it was redriven or discarded",
    ),
    "queue": ("queue_not_found", "see: sexton queues list"),
    "secret": ("no_secret", "see: sexton secret list"),
    "node": ("node_not_found", "see: sexton cluster"),
    "namespace": ("namespace_not_found", "see: sexton namespaces list"),
    "key": ("key_not_found", "see: sexton keys list"),
    "planned action": ("schedule_not_found", "see: sexton content list"),
    "release": ("release_not_found", "see: sexton content releases"),
    "feed": ("feed_not_found", "see: sexton content feeds"),
    "calendar feed": ("feed_not_found", "see: sexton calendar feeds"),
    "adapter": ("adapter_not_found", "see: sexton content adapters"),
    "suppression": ("suppression_not_found", "GET /api/v1/suppressions lists them"),
    "inbox": ("inbox_not_found", "ask for a new token: POST /api/v1/recipients/USER/inbox-token"),
    "inbox item": ("item_not_found", "an id looks like i_1"),
    "unsubscribe link": ("link_not_found", "use the link of the message as it is"),
    "provider": ("provider_not_found", "see: sexton providers list"),
    "entity": ("entity_not_found", "see: sexton content entities"),
    "recipient": ("recipient_not_found", "see: sexton recipients list"),
    "template": ("template_not_found", "see: sexton templates list"),
    "notification": ("notification_not_found", "see: sexton notify list"),
    "campaign": ("campaign_not_found", "see: sexton campaigns list"),
    "segment": ("segment_not_found", "see: sexton segments list"),
    "list": ("list_not_found", "see: sexton audiences list"),
    "digest": ("digest_not_found", "see: sexton digests list"),
    "member": ("member_not_found", "let the recipient enter: sexton sequences enter"),
    "sequence": ("sequence_not_found", "see: sexton sequences list"),
    "schedule of notifications": ("schedule_not_found", "see: sexton notify schedules"),
    "session": ("session_not_found", "see: sexton sessions list"),
    "worker": ("worker_not_found", "join first: POST /api/v1/workers"),
    "page": ("no_such_path", "/docs lists every path"),
}

NO_EXAMPLES: Mapping[str, str] = {}


Line = TypeVar("Line")
Made = TypeVar("Made")


def about(text: str) -> msgspec.Meta:
    """The description of a field, for its documentation."""
    return msgspec.Meta(description=text)


def not_found(kind: str, ref: object, *, hint: str | None = None) -> NotFound:
    """The refusal if there is no such `kind` of thing. `hint`: what to do, if the caller knows it."""
    code, usual = THINGS[kind]
    return NotFound(code, f"there is no {kind} {ref}", hint=hint or usual)


# What msgspec raises for text that is not JSON; more than a thousand nested brackets are not.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def bad_json(error: Exception) -> InvalidField:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else error
    return InvalidField("bad_json", f"this is not JSON: {why}", field="body", hint="send one JSON object")


def converted(data: Any, type_: type[Made], *, strict: bool = True, **told: Any) -> Made:
    """The data as a value of this type, or `InvalidField`; `told` as for `explained`."""
    try:
        return msgspec.convert(data, type_, strict=strict)
    except msgspec.ValidationError as error:
        raise explained(error, type_, data, **told) from None


def decoded(text: bytes | str, type_: type[Made], **told: Any) -> Made:
    """JSON as a value of this type, or `InvalidField`; `told` as for `explained`."""
    try:
        try:
            return msgspec.json.decode(text, type=type_)
        except msgspec.ValidationError as error:
            # msgspec stops at the first wrong value: the rest of the text may not be JSON.
            raise explained(error, type_, msgspec.json.decode(text), **told) from None
    except UNREADABLE as error:
        raise bad_json(error) from None


# Instants that stay instants in every zone, and some days before and after.
FIRST_YEAR, LAST_YEAR = 2, 9998


def each_line(
    lines: Iterable[Line], make: Callable[[Line], Made], numbers: Iterable[int] | None = None
) -> list[Made]:
    """The results for all lines. If `make` refuses some, raises `RefusedLines` with their `numbers`, which
    count from 1 unless they are given."""
    made, errors = list[Made](), list[tuple[int, SextonError]]()
    for number, line in zip(count(1) if numbers is None else numbers, lines, strict=False):
        try:
            made.append(make(line))
        except SextonError as error:
            errors.append((number, error))
            if len(errors) == MOST_LINES_NAMED:
                break
    if errors:
        raise RefusedLines(errors)
    return made


def check_ranges(
    values: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]], none: str, zero: str = ""
) -> None:
    """Refuse a number outside its range. The hint says that null is `none`, and of 0 also `zero`."""
    for field, (least, most) in ranges.items():
        value = values[field]
        if value is not None and not least <= value <= most:
            hint = f"give a number from {least:g} to {int(most):,}, or null for {none}"
            hint += "" if value else zero
            raise InvalidField("out_of_range", f"{field} is {value}", field=field, hint=hint)


def cells_of(line: bytes) -> list[str]:
    """The cells of a line of CSV."""
    try:
        return next(csv.reader([line.decode("utf-8-sig").rstrip("\r\n")], strict=True), [])
    except UnicodeDecodeError:
        raise InvalidField(
            "bad_text", "it is not UTF-8", field="line", hint="save the file as UTF-8"
        ) from None
    except csv.Error as error:
        raise InvalidField(
            "bad_csv", f"it is not CSV: {error}", field="line", hint="keep each row on one line"
        ) from None


def config_text(config: dict[str, Any]) -> str:
    """The configuration as it is stored."""
    refuse_nul(config, "config")
    text = msgspec.json.encode(config).decode()
    if len(text) > LARGEST_CONFIG:
        raise InvalidField(
            "too_long",
            f"the configuration has {len(text):,} characters",
            field="config",
            hint=f"at most {LARGEST_CONFIG:,}",
        )
    return text


def check_config_name(name: str, field: str, thing: str, example: str) -> None:
    if not CONFIG_NAME.fullmatch(name):
        raise InvalidField(
            "bad_name",
            f"{name!r} cannot be the name of {thing}",
            field=field,
            hint=f"use lower-case letters, digits, hyphens and underscores, at most 63, such as {example}",
        )


def aware(moment: datetime, field: str) -> datetime:
    """An instant needs a zone: 09:00 alone could be anywhere. The first and the last year are refused: in
    another zone, or a day later, they are no years."""
    if moment.tzinfo is None:
        hint = f"add Z or an offset, such as {EXAMPLE_TIME}"
        raise InvalidField("naive_time", f"{moment.isoformat()} has no time zone", field=field, hint=hint)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        hint = f"use the years {FIRST_YEAR:04} to {LAST_YEAR}"
        raise InvalidField("out_of_range", f"{field} is {moment.isoformat()}", field=field, hint=hint)
    return moment


def refuse_nul(value: Any, field: str) -> None:
    """PostgreSQL keeps no text with the character NUL: refuse it anywhere in a value."""
    if isinstance(value, str) and "\0" in value:
        raise InvalidField(
            "nul_character", f"{field} contains the character U+0000", field=field, hint="remove it"
        )
    if isinstance(value, dict):
        for name, inner in value.items():
            refuse_nul(name, field)
            refuse_nul(inner, f"{field}.{name}".removeprefix("body."))
    elif isinstance(value, list):
        for inner in value:
            refuse_nul(inner, field)


def explained(
    error: msgspec.ValidationError,
    struct: Any,
    data: Any,
    *,
    under: str = "",
    what: str = "field",
    code: str | None = None,
    examples: Mapping[str, str] = NO_EXAMPLES,
) -> InvalidField:
    """The refusal for an error of msgspec about `data`, which stands `under` this field and has fields or
    other parts (`what`). `code`: one code for every refused value, if callers do not need the reason.
    `examples`: by field what to write, if the type does not say enough."""
    message, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".").replace("[...]", "")
    place = f"{under}.{path}".strip(".")
    field = place or "body"
    if missing := re.search(r"missing required field `(\w+)`", message):
        field = f"{field}.{missing[1]}".removeprefix("body.")
        hint = examples.get(field) or "add it"
        return InvalidField("missing_field", f"{field} is missing", field=field, hint=hint)
    if unknown := re.search(r"unknown field `(.*)`", message):
        return unknown_field(
            unknown[1], fields_of(struct, path), under=f"{under}.{path}".strip("."), what=what
        )
    hint = examples.get(field) or examples.get(field.split("[")[0]) or remedy(struct, path) or "change it"
    if bound := re.search(r"Expected `(int|float|str|array|object)` (?:of length )?[<>]=? ?(.*)", message):
        return _out_of_bounds(field, _value(data, path), bound[1], bound[2], hint, code)
    message = re.sub(r"`(.*?)`", r"\1", message).replace("RFC3339 encoded ", "").replace(" | null", "")
    kind = "bad_time" if "datetime" in message else "bad_type" if "Expected" in message else "bad_value"
    return InvalidField(code or kind, f"{field}: {message[:1].lower()}{message[1:]}", field=field, hint=hint)


def _out_of_bounds(field: str, value: Any, kind: str, most: str, hint: str, code: str | None) -> InvalidField:
    """A number out of its range, or a text or a list that is too long or too short."""
    if kind in ("int", "float"):
        name = field.rpartition(".")[2]
        return InvalidField(code or "out_of_range", f"{name} is {value}", field=field, hint=hint)
    many, parts = ("too_long", "characters") if kind == "str" else ("too_many", "entries")
    hint = f"at most {most}" if len(value) > int(most) else f"at least {most}"
    return InvalidField(code or many, f"{field} has {len(value)} {parts}", field=field, hint=hint)


def unknown_field(
    name: str, known: Collection[str], *, under: str = "", what: str = "field", meant: str | None = None
) -> InvalidField:
    """The refusal of a field that does not exist, with the probable name (`meant`)."""
    plain = plain_name(name)
    if meant is None:
        close = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
        meant = f"{under}.{close[0]}".strip(".") if close else None
    seconds = " (in seconds)" if meant and meant.endswith("_seconds") and "minute" in plain else ""
    hint = f"did you mean {meant}{seconds}?" if meant else f"known {what}s: {', '.join(known)}"
    field = f"{under}.{name}".strip(".")
    return InvalidField(f"unknown_{what}", f"there is no {what} {field}", field=field, hint=hint)


def plain_name(name: str) -> str:
    """The spelling of fields in Sexton: `maxRetries` and `max-retries` become `max_retries`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()


def remedy(struct: Any, path: str) -> str | None:
    """What to write at this path of a struct, such as `message.broker` or `exclude[0]`."""
    whole = types_at(struct, path.partition("[")[0])
    shown = [kind for kind in whole if isinstance(kind, inspect.Metadata)]
    return " or ".join(filter(None, map(_words, shown or types_at(struct, path)))) or None


def fields_of(struct: Any, path: str) -> list[str]:
    """The names of the fields that an object at this path may have."""
    return [
        field.encode_name
        for kind in types_at(struct, path)
        for inner in (_plain(kind.type) if isinstance(kind, inspect.Metadata) else [kind])
        if isinstance(inner, inspect.StructType)
        for field in inner.fields
    ]


def types_at(struct: Any, path: str = "") -> list[inspect.Type]:
    """The types that a value at this path may have, without null."""
    kinds = _plain(inspect.type_info(struct))
    for step in _steps(path):
        kinds = [inner for kind in kinds for inner in _inside(kind, step)]
    return kinds


def _steps(path: str) -> list[str]:
    return re.findall(r"\[[^\]]*\]|[^.\[]+", path)


def _value(data: Any, path: str) -> Any:
    for step in _steps(path):
        data = data[int(step[1:-1])] if step.startswith("[") else data[step]
    return data


def _plain(kind: inspect.Type) -> list[inspect.Type]:
    """The types without null and without metadata, except for examples."""
    if isinstance(kind, inspect.Metadata):
        return [kind] if "examples" in (kind.extra_json_schema or {}) else _plain(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [inner for each in kind.types for inner in _plain(each)]
    return [] if isinstance(kind, inspect.NoneType) else [kind]


def _inside(kind: inspect.Type, step: str) -> list[inspect.Type]:
    match kind:
        case inspect.Metadata(type=noted):
            return [inner for each in _plain(noted) for inner in _inside(each, step)]
        case inspect.StructType(fields=fields):
            return [inner for field in fields if field.encode_name == step for inner in _plain(field.type)]
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            return _plain(inner)
        case _:
            return []


def _words(kind: inspect.Type) -> str | None:
    match kind:
        case inspect.Metadata(extra_json_schema={"examples": examples}):
            texts = [each if isinstance(each, str) else json.dumps(each) for each in examples]
            return f"write {' or '.join(texts)}"
        case inspect.LiteralType(values=values):
            return _choice(values)
        case inspect.EnumType(cls=cls):
            return _choice([member.value for member in cls])
        case inspect.BoolType():
            return "write true or false"
        case inspect.DateTimeType():
            return f"write for example {EXAMPLE_TIME}"
        case inspect.IntType() | inspect.FloatType():
            return f"give a {'whole ' * isinstance(kind, inspect.IntType)}number{_range(kind)}"
        case inspect.StrType():
            return "give text"
        case inspect.ListType():
            return "give a list"
        case inspect.DictType() | inspect.StructType():
            return "give an object"
        case _:
            return None


def _choice(values: Any) -> str:
    *most, last = (str(value) for value in values)
    return f"use {', '.join(most)} or {last}" if most else f"use {last}"


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.gt is not None:
        return f" above {kind.gt:g}" + (f", up to {kind.le:,}" if kind.le is not None else "")
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:,} to {kind.le:,}"
    if kind.ge is not None:
        return f", {kind.ge:,} or more"
    return f" up to {kind.le:,}" if kind.le is not None else ""


_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff]")


def check_text(text: str, field: str, longest: int) -> str:
    """Refuse a text that is empty, too long, or has control characters other than line ends and tabs."""
    if not text.strip():
        raise InvalidField("empty", f"{field} is empty", field=field, hint="write something, or leave it out")
    if len(text) > longest:
        what = f"{field} has {len(text)} characters"
        raise InvalidField("too_long", what, field=field, hint=f"at most {longest}")
    if found := _UNPRINTABLE.search(text):
        code = "nul_character" if found[0] == "\0" else "bad_text"
        what = f"{field} contains the character U+{ord(found[0]):04X}"
        raise InvalidField(code, what, field=field, hint="remove it")
    return text
