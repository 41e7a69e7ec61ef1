"""Renders templates of untrusted authors with limits.

The sandbox of Jinja2 denies access to Python, but does not limit time and memory: `'a' * 10**9`, nested
loops, a text that is doubled a hundred times. Here every loop, call and operator uses up a budget of steps
and characters. The same template with the same values uses the same amount on every machine. Only harmless
methods, filters and functions are available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

LONGEST_SOURCE = 256 * 1024
# Of it, what stands between {{ and }} or {% and %}: compiling takes as long as there is of this.
LONGEST_CODE = 32 * 1024
LONGEST_OUTPUT = 1024 * 1024
MOST_CHARACTERS = 2 * 1024 * 1024
MOST_STEPS = 20_000
LONGEST_RANGE = 10_000

FILTERS = (
    "abs", "batch", "capitalize", "d", "default", "dictsort", "e", "escape", "first", "float", "forceescape",
    "groupby", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "reverse", "round", "select", "selectattr", "slice", "sort", "string",
    "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "urlencode", "wordcount",
)  # fmt: skip
METHODS = {
    str: {
        "capitalize", "count", "endswith", "find", "isalpha", "isdigit", "islower", "isupper", "lower",
        "lstrip", "removeprefix", "removesuffix", "rstrip", "split", "splitlines", "startswith", "strip",
        "swapcase", "title", "upper",
    },
    dict: {"get", "items", "keys", "values"},
    list: {"count", "index"},
    tuple: {"count", "index"},
}  # fmt: skip
LARGEST_BITS = 4096


class Missing(StrictUndefined):
    """An undefined value: a template may only test whether it is defined."""

    def __bool__(self) -> bool:  # type: ignore[override]
        return False


class TooMuch(TemplateError):
    """A template has used up its budget."""


class RenderBudget:
    """The remaining budget of one rendering."""

    __slots__ = ("characters", "steps")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.steps = MOST_STEPS
        self.characters = MOST_CHARACTERS

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TooMuch(f"the template takes more than {MOST_STEPS:,} steps")

    def take(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise TooMuch(f"the template makes more than {MOST_CHARACTERS:,} characters on its way")


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of templates. Not thread-safe: a rendering uses `budget`."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, *, autoescape: bool) -> None:
        super().__init__(undefined=Missing, autoescape=autoescape, cache_size=0, auto_reload=False)
        self.budget = RenderBudget()
        self.finalize = self._shown
        own = {"join": self._join, "replace": self._replace, "slice": self._pieces, "batch": self._batch}
        kept = {name: self._charged(self.filters[name]) for name in FILTERS}
        self.filters.clear()
        self.filters.update(kept | own)
        self.globals.clear()
        self.globals.update(range=self._range, dict=dict)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, and add the budget to its loops and its operator `~`."""
        if len(source) > LONGEST_SOURCE:
            raise TooMuch(f"the text is longer than {LONGEST_SOURCE:,} characters")
        if code_length(source) > LONGEST_CODE:
            raise TooMuch(f"the text has more than {LONGEST_CODE:,} characters in tags")
        tree = super()._parse(source, name, filename)
        for refused in (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block):
            if found := tree.find(refused):
                raise TemplateError(f"line {found.lineno}: {_tag(refused)} is not allowed in templates")
        _charge(tree)
        return tree

    def looped(self, over: Any) -> Iterator[Any]:
        """The items of a loop, with one step each."""
        for each in over:
            self.budget.step()
            yield each

    def joined(self, *parts: Any) -> str:
        """The operator `~`."""
        wrap = escape if any(isinstance(part, Markup) for part in parts) else str
        for part in parts:
            self._charge(part)
        texts = [wrap(part) for part in parts]
        self.budget.step()
        self.budget.take(sum(map(len, texts)))
        return (Markup() if wrap is escape else "").join(texts)

    def weighed(self, value: Any) -> Any:
        """A value that is compared, or looked up: that takes as long as it has parts. A list that has another
        one twice, again and again, has very many."""
        self._charge(value)
        return value

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        self.budget.step()
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, str | list | tuple) and isinstance(other, int):
                    self.budget.take(len(one) * max(0, other))
            if isinstance(left, int) and isinstance(right, int):
                self._check_bits(left.bit_length() + right.bit_length())
        elif operator == "**":
            if isinstance(left, int) and isinstance(right, int) and right > 0:
                self._check_bits(max(1, left.bit_length()) * right)
        elif operator == "+":
            for one in (left, right):
                if isinstance(one, str | list | tuple):
                    self.budget.take(len(one))
        elif operator == "%" and isinstance(left, str):
            raise TooMuch("texts are not formatted with %: use ~ and filters")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner = getattr(obj, "__self__", None)
        if owner is self and obj.__name__ == "weighed":
            return obj(*args)
        self.budget.step()
        if isinstance(owner, str):
            self.budget.take(len(owner))
        if obj is dict or isinstance(owner, tuple(METHODS)):
            for value in (*args, *kwargs.values()):
                self._charge(value)
        return super().call(context, obj, *args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, methods in METHODS.items():
            if isinstance(obj, kind):
                return attr in methods
        return not callable(value) and super().is_safe_attribute(obj, attr, value)

    def is_safe_callable(self, obj: Any) -> bool:
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, tuple(METHODS)):
            return True  # its name was checked
        return obj is dict or owner is self or type(obj).__module__.startswith("jinja2.")

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        return self.undefined(
            f"{attribute} of a {type(obj).__name__} is not allowed in templates", exc=SecurityError
        )

    def _charged(self, filter_: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that uses up the budget by the length of its input."""
        place = 1 if hasattr(filter_, "jinja_pass_arg") else 0

        @wraps(filter_)
        def charged(*args: Any, **kwargs: Any) -> Any:
            self.budget.step()
            self._charge(args[place])
            return filter_(*args, **kwargs)

        return charged

    def _shown(self, value: Any) -> Any:
        """Use up the budget for the value of an expression, before it becomes text."""
        if not isinstance(value, str):
            self._charge(value)
        return value

    def _charge(self, value: Any) -> None:
        """Use up the budget by the size of a value as text: a short list can contain one long list many
        times."""
        if isinstance(value, str):
            self.budget.take(len(value))
            return
        left = [value]
        while left:
            each = left.pop()
            if isinstance(each, dict):
                left += each.keys()
                left += each.values()
            elif isinstance(each, list | tuple | set | frozenset):
                left += each
            self.budget.take(len(each) if isinstance(each, str) else 20)

    def _check_bits(self, bits: int) -> None:
        if bits > LARGEST_BITS:
            raise TooMuch("the number is too large")

    def _range(self, *bounds: int) -> range:
        made = range(*bounds)
        if len(made) > LONGEST_RANGE:
            raise TooMuch(f"the range has more than {LONGEST_RANGE:,} numbers")
        self.budget.take(len(made))
        return made

    def _join(self, value: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
        items = list(value)
        if attribute is not None:
            items = [self.getitem(item, attribute) for item in items]
        self.budget.take(len(d) * len(items))
        parts: list[Any] = []
        for place, item in enumerate(items):
            parts += [d, item] if place else [item]
        return self.joined(*parts)

    def _replace(self, value: Any, old: str, new: str, count: int | None = None) -> str:
        for each in (value, old, new):
            self._charge(each)
        text, old, new = str(value), str(old), str(new)
        found = text.count(old) if count is None else min(count, text.count(old))
        self.budget.take(len(text) + found * len(new))
        done = text.replace(old, new) if count is None else text.replace(old, new, count)
        return Markup(done) if isinstance(value, Markup) and isinstance(new, Markup) else done

    def _pieces(self, value: Iterable[Any], slices: int, fill_with: Any = None) -> list[list[Any]]:
        items = list(value)
        if not 1 <= slices <= max(1, len(items)):
            raise TooMuch(f"{slices} slices of {len(items)} items")
        length, more = divmod(len(items), slices)
        pieces, place = [], 0
        for number in range(slices):
            size = length + (number < more)
            piece = items[place : place + size]
            place += size
            pieces.append([*piece, fill_with] if fill_with is not None and more and number >= more else piece)
        return pieces

    def _batch(self, value: Iterable[Any], linecount: int, fill_with: Any = None) -> list[list[Any]]:
        items = list(value)
        if not 1 <= linecount <= LONGEST_RANGE:
            raise TooMuch(f"rows of {linecount} items")
        rows = [items[place : place + linecount] for place in range(0, len(items), linecount)]
        if rows and fill_with is not None:
            self.budget.take(linecount)
            rows[-1] += [fill_with] * (linecount - len(rows[-1]))
        return rows


def _charge(tree: nodes.Template) -> None:
    for loop in list(tree.find_all(nodes.For)):
        looped = nodes.EnvironmentAttribute("looped", lineno=loop.lineno)
        loop.iter = nodes.Call(looped, [loop.iter], [], None, None, lineno=loop.lineno)
    for parent in [tree, *tree.find_all(nodes.Node)]:
        for name, value in parent.iter_fields():
            if isinstance(value, nodes.Concat):
                setattr(parent, name, _joined(value))
            elif isinstance(value, list):
                value[:] = [_joined(each) if isinstance(each, nodes.Concat) else each for each in value]
    for compared in list(tree.find_all(nodes.Compare)):
        compared.expr = _weighed(compared.expr)
        for operand in compared.ops:
            operand.expr = _weighed(operand.expr)
    for tested in list(tree.find_all(nodes.Test)):
        if tested.name not in ("defined", "undefined"):
            tested.node = _weighed(tested.node)
        tested.args = [_weighed(each) for each in tested.args]
    for pair in list(tree.find_all(nodes.Pair)):
        pair.key = _weighed(pair.key)
    for looked in list(tree.find_all(nodes.Getitem)):
        if not isinstance(looked.arg, nodes.Slice):
            looked.arg = _weighed(looked.arg)
    tree.set_environment(tree.environment)  # type: ignore[arg-type]


def _joined(concat: nodes.Concat) -> nodes.Call:
    joined = nodes.EnvironmentAttribute("joined", lineno=concat.lineno)
    return nodes.Call(joined, list(concat.nodes), [], None, None, lineno=concat.lineno)


def _weighed(value: nodes.Expr) -> nodes.Expr:
    if isinstance(value, nodes.Const):
        return value
    weighed = nodes.EnvironmentAttribute("weighed", lineno=value.lineno)
    return nodes.Call(weighed, [value], [], None, None, lineno=value.lineno)


def code_length(source: str) -> int:
    """How many characters of a template are in tags."""
    return sum(map(len, _CODE.findall(source)))


_CODE = re.compile(r"\{[{%].*?(?:[%}]\}|\Z)", re.DOTALL)


def _tag(kind: type[nodes.Node]) -> str:
    return {"FromImport": "import"}.get(kind.__name__, kind.__name__.lower())
