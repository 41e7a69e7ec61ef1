"""The arguments of a handler: its parameters beside the run. The application provides some by their type; the
payload gives the others by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.refusal import UNREADABLE, explained
from sexton.targets.face import Run
from sexton.targets.providers import Providers

_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments:
    """The parameters of a function. `run`: the first parameter is the run, since its name is `run`, its
    annotation is `Run`, or it has no annotation. `names` come from the payload, `needs` from providers. Names
    that begin with an underscore keep their defaults."""

    def __init__(self, function: Callable[..., Any], providers: Providers) -> None:
        self.run = True
        self.names: tuple[str, ...] = ()
        self.needs: dict[str, Any] = {}
        self._function = function
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise _refuse(function, "has a yield: calling it does nothing", hint="return what it yields")
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError:
            return  # written in C: it does not say what it takes
        if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
            return
        self.run = bool(parameters) and _is_run(parameters[0])
        own = [each for each in parameters[self.run :] if not _is_left_alone(each)]
        for each in own:
            if each.kind not in _KEYWORD:
                raise _refuse(function, f"cannot be given {each.name} by name")
        if own:
            self._sort(_with_types(function, [each.name for each in own]), providers)

    def _sort(self, parameters: list[inspect.Parameter], providers: Providers) -> None:
        """Decide which come from the payload, and which from providers: those whose type has a provider, or
        cannot be in a payload. Of the latter, a parameter with a default and without a provider keeps its
        default."""
        from_payload = []
        for each in parameters:
            kind = providers.find(each.annotation)
            if kind is not None:
                self.needs[each.name] = kind
            elif not _is_custom(each.annotation):
                from_payload.append(each)
            elif each.default is inspect.Parameter.empty:
                self.needs[each.name] = each.annotation
        self.names = tuple(each.name for each in from_payload)
        if from_payload:
            self._struct = _struct(self._function, from_payload)
            self._decoder = msgspec.json.Decoder(self._struct)
            self._hints = {
                f"payload.{each.name}": f"add a {name}, or write app.provide({name}, …) above the handler"
                for each in from_payload
                if hasattr(each.annotation, "__dataclass_fields__")
                or hasattr(each.annotation, "__struct_fields__")
                for name in [each.annotation.__name__]
            }

    def check_needs(self, providers: Providers) -> None:
        """Refuse a function that needs what the application does not provide."""
        for name, kind in self.needs.items():
            providers.check(kind, f"{name}= of {name_of(self._function)}")

    def read(self, payload: str | bytes | None) -> dict[str, Any]:
        """The arguments in a payload, given as JSON, by name; missing ones keep their defaults. Raises
        `InvalidField` for a wrong one."""
        if not self.names:
            return {}
        text = "{}" if payload is None else payload
        try:
            given = self._decoder.decode(text)
        except msgspec.ValidationError as error:
            found = msgspec.json.decode(text)
            raise explained(error, self._struct, found, under="payload", examples=self._hints) from None
        values = ((name, getattr(given, name)) for name in self.names)
        return {name: value for name, value in values if value is not msgspec.UNSET}

    def check(self, payload: Any) -> None:
        """Refuse a payload with which the function cannot be called."""
        if self.names:
            try:
                encoded = msgspec.json.encode(payload)
            except (TypeError, ValueError, *UNREADABLE):
                return  # no payload for any handler: refused where payloads are checked
            self.read(None if payload is None else encoded)


def _is_run(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if parameter.kind not in _POSITIONAL:
        return False
    if isinstance(annotation, str):
        return parameter.name == "run" or annotation.rpartition(".")[2] == "Run"
    return parameter.name == "run" or annotation in (Run, inspect.Parameter.empty)


def _is_left_alone(parameter: inspect.Parameter) -> bool:
    has_default = parameter.default is not inspect.Parameter.empty
    variable = parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return variable or (parameter.name.startswith("_") and has_default)


def _with_types(function: Callable[..., Any], names: list[str]) -> list[inspect.Parameter]:
    known = {"Run": Run}
    try:
        parameters = inspect.signature(function, locals=known, eval_str=True).parameters
    except Exception as error:
        raise _refuse(function, f"has a type that cannot be read: {error}") from error
    return [parameters[name] for name in names]


def _is_custom(annotation: Any) -> bool:
    """Whether it is a type that msgspec does not know."""
    try:
        return isinstance(msgspec.inspect.type_info(annotation), msgspec.inspect.CustomType)
    except Exception:
        return False  # refused where the payload is read


def _struct(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for each in parameters:
        kind = Any if each.annotation is inspect.Parameter.empty else each.annotation
        if each.default is inspect.Parameter.empty:
            fields.append((each.name, kind))
        else:
            fields.append((each.name, kind | msgspec.UnsetType, msgspec.UNSET))
    try:
        return msgspec.defstruct("Payload", fields, kw_only=True, forbid_unknown_fields=True)
    except TypeError as error:
        raise _refuse(function, f"has a type that a payload cannot give: {error}") from error


def name_of(function: Callable[..., Any]) -> str:
    name: str = getattr(inspect.unwrap(function), "__name__", type(function).__name__)
    return name


def _refuse(function: Callable[..., Any], why: str, hint: str | None = None) -> InvalidField:
    name = name_of(function)
    hint = hint or f"write def {name}(run, customer: str): …"
    return InvalidField("bad_handler", f"{name} {why}", field="handler", hint=hint)
