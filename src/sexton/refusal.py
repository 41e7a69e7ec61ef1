"""Refusals in our words: which field is wrong, and what to write instead, told from the field's type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from sexton.errors import InvalidField, NotFound

EXAMPLE_TIME = "2026-06-08T13:00:00Z"
# What can be asked for by its id or name: the code when it is not there, and where to look.
THINGS = {
    "job": ("job_not_found", "see: sexton jobs list"),
    "run": ("run_not_found", "see: sexton runs list; runs are kept as long as history"),
    "dead letter": (
        "dead_not_found",
        "see: sexton dead list; the run never died, or it was redriven or discarded",
    ),
    "queue": ("queue_not_found", "see: sexton queues list"),
    "secret": ("no_secret", "see: sexton secret list"),
    "node": ("node_not_found", "see: sexton cluster"),
}

NO_EXAMPLES: Mapping[str, str] = {}


def not_found(kind: str, ref: object) -> NotFound:
    """There is no such `kind` of thing."""
    code, hint = THINGS[kind]
    return NotFound(code, f"there is no {kind} {ref}", hint=hint)


def explained(
    error: msgspec.ValidationError,
    struct: Any,
    data: Any,
    *,
    under: str = "",
    examples: Mapping[str, str] = NO_EXAMPLES,
) -> InvalidField:
    """What msgspec refused of `data`, which stands `under` this field. `examples` say by field what to write
    where the type does not say enough."""
    message, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".").replace("[...]", "")
    field = f"{under}.{path}".strip(".") or "body"
    if missing := re.search(r"missing required field `(\w+)`", message):
        field = f"{field}.{missing[1]}".removeprefix("body.")
        return InvalidField(
            "missing_field", f"{field} is missing", field=field, hint=examples.get(field, "add it")
        )
    if unknown := re.search(r"unknown field `(\w+)`", message):
        return unknown_field(unknown[1], fields_of(struct, path), under=field)
    hint = examples.get(field) or examples.get(field.split("[")[0]) or remedy(struct, path)
    if re.search(r"Expected `(int|float)` [<>]", message):
        name, value = field.rpartition(".")[2], _value(data, path)
        return InvalidField("out_of_range", f"{name} is {value}", field=field, hint=hint)
    message = re.sub(r"`(.*?)`", r"\1", message).replace("RFC3339 encoded ", "").replace(" | null", "")
    wanted = re.search(r"Expected (\w+)", message)
    return InvalidField(
        "bad_time" if "datetime" in message else "bad_type" if wanted else "bad_value",
        f"{field}: {message[:1].lower()}{message[1:]}",
        field=field,
        hint=hint or "check the value",
    )


def unknown_field(
    name: str, known: Collection[str], *, under: str = "", meant: str | None = None
) -> InvalidField:
    """A field that does not exist, with the one that is probably `meant`."""
    plain = plain_name(name)
    if meant is None:
        close = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
        meant = f"{under}.{close[0]}".strip(".") if close else None
    seconds = " (in seconds)" if meant and meant.endswith("_seconds") and "minute" in plain else ""
    hint = f"did you mean {meant}{seconds}?" if meant else f"known fields: {', '.join(known)}"
    field = f"{under}.{name}".strip(".")
    return InvalidField("unknown_field", f"there is no field {field}", field=field, hint=hint)


def plain_name(name: str) -> str:
    """As fields are written here: `maxRetries` and `max-retries` become `max_retries`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()


def remedy(struct: Any, path: str) -> str | None:
    """What to write at this path of a struct, such as `message.broker` or `exclude[0]`."""
    found = [words for words in map(_words, _types_at(struct, path)) if words]
    return " or ".join(found) or None


def fields_of(struct: Any, path: str) -> list[str]:
    """The names of the fields that an object at this path may have."""
    return [
        field.encode_name
        for kind in _types_at(struct, path)
        if isinstance(kind, inspect.StructType)
        for field in kind.fields
    ]


def _types_at(struct: Any, path: str) -> list[inspect.Type]:
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
    """Without notes on it, and without null."""
    if isinstance(kind, inspect.Metadata):
        return _plain(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [inner for each in kind.types for inner in _plain(each)]
    return [] if isinstance(kind, inspect.NoneType) else [kind]


def _inside(kind: inspect.Type, step: str) -> list[inspect.Type]:
    match kind:
        case inspect.StructType(fields=fields):
            return [inner for field in fields if field.encode_name == step for inner in _plain(field.type)]
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            return _plain(inner)
        case _:
            return []


def _words(kind: inspect.Type) -> str | None:
    match kind:
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
    """No longer than it may be, not empty, no control characters but line ends."""
    if not text.strip():
        raise InvalidField("empty", f"{field} is empty", field=field, hint="write something, or leave it out")
    if len(text) > longest:
        raise InvalidField(
            "too_long", f"{field} has {len(text)} characters", field=field, hint=f"at most {longest}"
        )
    if found := _UNPRINTABLE.search(text):
        raise InvalidField(
            "nul_character" if found[0] == "\0" else "bad_text",
            f"{field} contains the character U+{ord(found[0]):04X}",
            field=field,
            hint="remove it",
        )
    return text
