"""Commands from the table of routes: arguments from the path, options from the fields of query and body.

    @command(routes.PAUSE_QUEUE)
    def pause(ask: Ask) -> int:
        "Pause a queue: its runs wait until it is resumed."
        return ask.shown(show_queue)

is `sexton queues pause QUEUE [--reason TEXT] [--json]`. A command that does more has further parameters of
its own, and calls `ask` when it is ready. With `chosen`, the fields of a filter are options too, and the last
argument of the path is optional.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
from cyclopts import Parameter
from msgspec import inspect as types

from sexton.api.route import PATH_PARAMETERS, Route
from sexton.cli import DONE
from sexton.cli.client import Client, path_of
from sexton.cli.output import write_json
from sexton.cli.remote import Json, connect, instant, listed, pair, read_json

# The number of rows is an option; the cursor is only for programs.
CURSOR = "cursor"
LIMIT = "limit"
REASON = "--reason"
WHY = "The reason, for the audit."
EMPTY = inspect.Parameter.empty
HYPHENS = {"allow_leading_hyphen": True}


@dataclass(frozen=True)
class Ask:
    """The request of a command, with the values that were given."""

    client: Client
    route: Route
    path: tuple[str, ...]
    given: Mapping[str, Any]
    json: bool
    #: The options that filter a list.
    filters: tuple[str, ...] = ()
    #: The values of the filter for many objects.
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **more: Any) -> Any:
        values = {**self.given, **more}
        if LIMIT not in values:
            return self.client.ask(self.route, *self.path, **values)
        *most, last = self.filters or ("",)
        narrow = f"{', '.join(most)} or {last}" if most else last
        return listed(self.client, path_of(self.route, *self.path), values.pop(LIMIT), narrow, **values)

    def shown(self, view: Callable[[Any], int | None], **more: Any) -> int:
        """The answer as JSON, or as `view` shows it."""
        return self.shown_as(self(**more), view)

    def shown_as(self, found: Any, view: Callable[[Any], int | None]) -> int:
        """An answer as JSON, or as `view` shows it."""
        if self.json:
            write_json(found)
            return DONE
        return view(found) or DONE


def command(
    route: Route,
    *,
    names: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    times: Callable[[str, str], str] = instant,
    chosen: type[msgspec.Struct] | None = None,
    why: str = REASON,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function a command. Its first parameter is the `Ask`; the others are its own arguments and
    options. `names` are options whose names differ from their fields, `defaults` replace the defaults of
    fields, and fields in `without` have no option. `times` reads instants as people type them. With `chosen`,
    a filter, the function itself takes the arguments of the path. `why` is the option for the reason of a
    change, unless a field has this name."""

    def make(function: Callable[..., int]) -> Callable[..., int]:
        _, *own = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
        own = [each.replace(annotation=hints[each.name]) for each in own]
        left_out = {CURSOR, *without, *(each.name for each in own)}
        options = [
            option_of(
                each,
                (names or {}).get(each.name, f"--{each.name.replace('_', '-')}"),
                (defaults or {}).get(each.name, EMPTY),
                times,
            )
            for struct in (route.query, route.body)
            if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
            for each in msgspec.structs.fields(struct)
            if each.name not in left_out
        ]
        choices = [
            option_of(
                each,
                (names or {}).get(each.name, f"--{each.name}"),
                None if each.default is None else EMPTY,
                times,
            )
            for each in (() if chosen is None else msgspec.structs.fields(chosen))
            if each.name not in without
        ]
        path = re.findall(r"\{(\w+)\}", route.path) if chosen is None else []
        filters = tuple(each.flag for each in options if each.name != LIMIT)
        says_why = route.method != "GET" and why not in {each.flag for each in options}

        def run(*arguments: Any, json: bool = False, because: str | None = None, **given: Any) -> int:
            values, meant = _taken(options, given), _taken(choices, given)
            with connect() as client:
                client.reason = because
                asked = Ask(client, route, arguments[: len(path)], values, json, filters, meant)
                return function(asked, *arguments[len(path) :], **given)

        parameters = [
            *(_parameter(name, Annotated[str, _help(PATH_PARAMETERS[name])], first=True) for name in path),
            *(each for each in own if each.kind is not each.KEYWORD_ONLY),
            *(_parameter(each.name, each.type, each.default) for each in (*options, *choices)),
            *(each for each in own if each.kind is each.KEYWORD_ONLY),
            *([_parameter("because", Annotated[str | None, _help(WHY, name=why)], None)] if says_why else []),
            _parameter("json", Json, False),
        ]
        update_wrapper(run, function)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return make


def _taken(options: Iterable[Option], given: dict[str, Any]) -> dict[str, Any]:
    """The given values of these options, as they are sent."""
    values = {}
    for each in options:
        typed = given.pop(each.name, each.default)
        if typed is not None and typed is not False and typed != ():
            values[each.name] = each.read(typed)
    return values


class Option(NamedTuple):
    """A field as an option; `read` converts the typed text to the value that is sent."""

    name: str
    flag: str
    type: Any
    default: Any
    read: Callable[[Any], Any]


def option_of(
    field: msgspec.structs.FieldInfo,
    flag: str,
    default: Any = EMPTY,
    times: Callable[[str, str], str] = instant,
) -> Option:
    """`default` replaces the default of the field; None: the option may be left out. `times` reads
    instants."""
    kind, notes = type_of(field.type)
    text, more = notes["description"], dict[str, Any]()
    typed: Any = str
    read: Callable[[Any, str], Any] = _as_typed
    match kind:
        case types.BoolType():
            typed, default = bool, False
        case types.LiteralType(values=[only]):
            typed, default, read = bool, False, lambda *_: only
        case types.LiteralType(values=values):
            typed = Literal[tuple(values)]
        case types.EnumType(cls=cls):
            typed = Literal[tuple(each.value for each in cls)]
        case types.StrType():
            typed = Literal[tuple(notes["enum"])] if "enum" in notes else str
        case types.IntType() | types.FloatType():
            typed, more = int if isinstance(kind, types.IntType) else float, HYPHENS
        case types.DateTimeType():
            more, read = HYPHENS, times
            text += " An instant, or -2h or +2h from now." if times is instant else ""
        case types.ListType():
            typed, default, read, text = tuple[str, ...], (), _as_list, f"{text} Repeatable."
        case types.DictType(value_type=types.StrType()):
            typed, default, read, text = tuple[str, ...], (), _as_pairs, f"{text} name=value; repeatable."
        case _:
            more, read, text = HYPHENS, read_json, f"{text} As JSON, or @FILE."
    if default is EMPTY and not field.required:
        default = field.default if field.name == LIMIT else None
    shown = default if default not in (None, EMPTY) else field.default
    if isinstance(shown, int | float | str) and shown is not False and "Default:" not in text:
        text += f" Default: {shown}."
    if default is None:
        typed |= None
    annotation = Annotated[typed, _help(text, name=flag, **more)]
    return Option(field.name, flag, annotation, default, lambda given: read(given, flag.lstrip("-")))


def _as_typed(typed: Any, _: str) -> Any:
    return typed


def _as_list(typed: tuple[str, ...], _: str) -> list[str]:
    return list(typed)


def _as_pairs(typed: tuple[str, ...], option: str) -> dict[str, str]:
    return dict(pair(each, "=", option, "team=billing") for each in typed)


def type_of(type_: Any) -> tuple[types.Type, dict[str, Any]]:
    """A field's type without null, and its metadata."""
    kind, notes = types.type_info(type_), dict[str, Any]()
    while isinstance(kind, types.Metadata | types.UnionType):
        if isinstance(kind, types.Metadata):
            notes = {**(kind.extra_json_schema or {}), **notes}
            kind = kind.type
        else:
            kind = next(each for each in kind.types if not isinstance(each, types.NoneType))
    return kind, notes


def _help(text: str, **more: Any) -> Parameter:
    return Parameter(help=text.replace("`", ""), **more)


def _parameter(name: str, type_: Any, default: Any = EMPTY, *, first: bool = False) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_ONLY if first else inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=type_)
