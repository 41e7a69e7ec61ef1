"""What to write instead of a value that was refused, told from the type of its field."""

from __future__ import annotations

import re
from typing import Any

from msgspec import inspect

from sexton.errors import InvalidField

EXAMPLE_TIME = "2026-06-08T13:00:00Z"


def remedy(struct: Any, path: str) -> str | None:
    """For the field at this path of a struct, such as `target.message.broker` or `exclude[0]`."""
    kinds = [inspect.type_info(struct)]
    for step in re.findall(r"\[[^\]]*\]|[^.\[]+", path):
        kinds = [inner for kind in kinds for inner in _inside(kind, step)]
    found = [words for words in map(_words, kinds) if words]
    return " or ".join(found) or None


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
