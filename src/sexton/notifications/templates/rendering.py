"""Compiles templates, once per version, language and channel, and renders them for a recipient.

A template can use the variables of the message and the fields of the recipient by their names, and
`recipient`, `message` and `unsubscribe_url`. The filters `date`, `time` and `datetime` show instants in the
recipient's zone and language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from babel import Locale, UnknownLocaleError, dates, numbers
from jinja2 import meta, nodes, pass_context
from jinja2.exceptions import TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.runtime import Context as TemplateContext
from markupsafe import escape

from sexton.errors import InvalidField
from sexton.notifications.templates.sandbox import LONGEST_OUTPUT, Sandbox, TooMuch
from sexton.schedules.zone import zone

#: Names that a template can use besides the variables.
LINK = "unsubscribe_url"
KNOWN = frozenset({"recipient", "message", LINK})
#: Parts in which values are escaped for HTML.
ESCAPED = frozenset({"html"})
MOST_FOUND = 4096
#: Parts of one line, with the most characters.
ONE_LINE = {"subject": 998, "title": 1000, "link": 4000}


#: Exceptions of filters and functions of Jinja2 for unsuitable values.
FAULTS = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, AssertionError,
    NotImplementedError,
)  # fmt: skip


class NotRendered(Exception):
    """A template cannot be rendered with these values. The message is for its author."""


@dataclass(frozen=True, slots=True)
class Place:
    """The zone and the language of the reader, for dates."""

    timezone: str
    locale: str | None


class PlainPiece(NamedTuple):
    """A piece of a text: constant, or the value of a name."""

    text: str | None
    name: str = ""
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class CompiledTexts:
    """The texts of one version, in one language, on one channel."""

    parts: tuple[tuple[str, str | Callable[[dict[str, Any]], str]], ...]
    locale: str
    functions: Mapping[str, Any]
    #: Whether a text has the unsubscribe link, which is made for each message.
    linked: bool = False
    #: The parts as constant texts and names, if they consist of nothing else.
    plain: tuple[tuple[str, tuple[PlainPiece, ...]], ...] | None = None

    def fill(self, values: Mapping[str, Any]) -> dict[str, str] | None:
        """The result of `render`, several times as fast, if the parts only replace names by texts. None
        otherwise, and if a value is missing or not a text. Raises `NotRendered`."""
        if self.plain is None:
            return None
        made = {}
        for name, pieces in self.plain:
            texts, size = [], 0
            for piece in pieces:
                text = piece.text
                if text is None:
                    value = values.get(piece.name)
                    if type(value) is not str:
                        return None
                    text = str(escape(value)) if piece.escaped else value
                texts.append(text)
                size += len(text)
            if size > LONGEST_OUTPUT:
                return None
            made[name] = finished(name, "".join(texts))
        return made

    def render(self, values: Mapping[str, Any], place: Place) -> dict[str, str]:
        """Render with values for the names. Raises `NotRendered`."""
        context: dict[str, Any] | None = None
        made = {}
        for name, part in self.parts:
            if isinstance(part, str):
                made[name] = part
                continue
            if context is None:
                context = {**self.functions, **values, "_place": place}
            try:
                text = part(context)
            except (UndefinedError, TooMuch) as error:
                raise NotRendered(f"{name}: {error.message}") from None
            except FAULTS as error:
                raise NotRendered(f"{name}: {error}") from None
            except RecursionError:
                raise NotRendered(f"{name}: the template calls itself too deeply") from None
            made[name] = finished(name, text)
        return made


class TextCompiler:
    """Compiles each template once. Not thread-safe."""

    def __init__(self) -> None:
        self._plain, self._escaping = _environment(autoescape=False), _environment(autoescape=True)
        self._escaping.budget = self._plain.budget
        self._functions = dict(self._plain.globals)
        self._kept = lru_cache(maxsize=2048)(self._compile)
        self._found: dict[tuple[tuple[str, str, int], str | None, str], CompiledTexts | None] = {}

    def texts(
        self,
        key: tuple[str, str, int],
        parts: Mapping[str, Mapping[str, Mapping[str, str]]],
        locale: str | None,
        channel: str,
    ) -> CompiledTexts | None:
        """The texts for a reader of this language; None if the channel has none. `key` is namespace, template
        and version."""
        wanted = (key, locale, channel)
        if wanted not in self._found:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            found = choose(parts, locale, channel)
            self._found[wanted] = (
                None if found is None else self._kept(key, found[0], channel, tuple(found[1].items()))
            )
        return self._found[wanted]

    def _compile(
        self, key: tuple[str, str, int], locale: str, channel: str, texts: tuple[tuple[str, str], ...]
    ) -> CompiledTexts:
        # MJML was converted to HTML when the version was written.
        wanted = [(name, text) for name, text in texts if name != "mjml"]
        parts = tuple((name, self.compile(name, text)) for name, text in wanted)
        pieces = [(name, self._pieces(name, text)) for name, text in wanted]
        plain = tuple((name, each) for name, each in pieces if each is not None)
        linked = any(LINK in text for _, text in wanted)
        return CompiledTexts(
            parts, locale, self._functions, linked, plain if len(plain) == len(wanted) else None
        )

    def _pieces(self, name: str, text: str) -> tuple[PlainPiece, ...] | None:
        """The constant texts and names in a text; None if it contains anything else."""
        if "{" not in text:
            return (PlainPiece(finished(name, text)),)
        pieces: list[PlainPiece] = []
        for output in self._plain.parse(text).body:
            if not isinstance(output, nodes.Output):
                return None
            for node in output.nodes:
                if isinstance(node, nodes.TemplateData):
                    pieces.append(PlainPiece(node.data))
                elif isinstance(node, nodes.Name) and node.name not in KNOWN:
                    pieces.append(PlainPiece(None, node.name, name in ESCAPED))
                else:
                    return None
        return tuple(pieces)

    def compile(self, name: str, text: str) -> str | Callable[[dict[str, Any]], str]:
        """A function that renders a text; the text itself if it is constant. Raises `TemplateError`."""
        if "{" not in text:
            return finished(name, text)
        environment = self._escaping if name in ESCAPED else self._plain
        try:
            template, budget = environment.from_string(text), environment.budget
        except SyntaxError as error:  # of the Python that Jinja2 makes of it
            raise TemplateError(f"the text is nested too deeply: {error.msg}") from None
        root, blocks, context_of = template.root_render_func, template.blocks, environment.context_class

        def render(values: dict[str, Any]) -> str:
            budget.reset()
            size, chunks = 0, []
            # Not template.new_context: copying its globals for each text doubles the time.
            for chunk in root(context_of(environment, values, None, blocks)):
                size += len(chunk)
                if size > LONGEST_OUTPUT:
                    raise TooMuch(f"the text is longer than {LONGEST_OUTPUT:,} characters")
                chunks.append(chunk)
            return "".join(chunks)

        return render

    def variables(self, text: str) -> dict[str, bool]:
        """The variables of a text, each with whether it is required. It is not required if the text tests
        whether it is defined, or has a default for it. Raises `TemplateError`."""
        if "{" not in text:
            return {}
        tree = self._plain.parse(text)
        names = meta.find_undeclared_variables(tree) - KNOWN - set(self._plain.globals)
        optional = _optional(tree)
        return {name: name not in optional for name in names}


def choose(
    parts: Mapping[str, Mapping[str, Mapping[str, str]]], locale: str | None, channel: str
) -> tuple[str, Mapping[str, str]] | None:
    """The language of a template for a recipient, and its texts: the recipient's language, the same without
    its region, the default of the template, or any language with texts for the channel."""
    for wanted in (*chain(locale), ""):
        if channel in parts.get(wanted, {}):
            return wanted, parts[wanted][channel]
    return next(((each, parts[each][channel]) for each in sorted(parts) if channel in parts[each]), None)


@lru_cache(maxsize=1024)
def chain(locale: str | None) -> tuple[str, ...]:
    """A language and its more general forms: `pt-br`, `pt`."""
    if not locale:
        return ()
    words = normal_locale(locale).split("-")
    return tuple("-".join(words[:count]) for count in range(len(words), 0, -1))


def normal_locale(locale: str) -> str:
    return locale.replace("_", "-").lower()


def finished(name: str, text: str) -> str:
    """Join the lines of one-line parts, and refuse NUL."""
    if name in ONE_LINE:
        text = " ".join(text.split())
        if len(text) > ONE_LINE[name]:
            raise NotRendered(f"{name}: it has {len(text):,} characters, {ONE_LINE[name]:,} are possible")
    if "\0" in text:
        raise NotRendered(f"{name}: it contains the character U+0000")
    return text


def refused(error: Exception, field: str) -> InvalidField:
    """The error for a text that cannot be compiled, or cannot be rendered with the samples."""
    if isinstance(error, TemplateSyntaxError):
        return InvalidField(
            "bad_template",
            f"line {error.lineno}: {error.message}",
            field=field,
            hint="see the syntax of Jinja2: {{ name }}, {% if name %}…{% endif %}",
        )
    return InvalidField("bad_template", str(error), field=field, hint="change the template")


def _environment(*, autoescape: bool) -> Sandbox:
    made = Sandbox(autoescape=autoescape)
    made.filters |= {
        "date": _filter("format_date"),
        "time": _filter("format_time"),
        "datetime": _filter("format_datetime"),
        "currency": _currency,
        "number": _number,
    }
    return made


def _filter(function: str) -> Callable[..., str]:
    @pass_context
    def shown(context: TemplateContext, value: Any, style: str = "medium") -> str:
        place: Place = context["_place"]
        moment = _moment(value)
        info = zone(place.timezone).info
        if function == "format_date":
            day = moment.astimezone(info).date() if isinstance(moment, datetime) else moment
            return dates.format_date(day, style, locale=_babel(place.locale))
        if not isinstance(moment, datetime):
            raise ValueError(f"{value} is a date without a time: use the filter date")
        format_ = getattr(dates, function)
        text: str = format_(moment, style, tzinfo=info, locale=_babel(place.locale))
        return text

    return shown


@pass_context
def _currency(context: TemplateContext, value: Any, currency: str) -> str:
    return numbers.format_currency(value, currency, locale=_babel(context["_place"].locale))


@pass_context
def _number(context: TemplateContext, value: Any) -> str:
    return numbers.format_decimal(value, locale=_babel(context["_place"].locale))


def _moment(value: Any) -> datetime | date:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value) if len(value) > 10 else date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is no time such as 2027-03-14T09:00:00Z") from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone")
        return value
    if isinstance(value, date):
        return value
    raise ValueError(f"{value!r} is no time such as 2027-03-14T09:00:00Z")


@lru_cache(maxsize=256)
def _babel(locale: str | None) -> Any:
    """The reader's language in Babel, or a more general form of it, or English."""
    for each in chain(locale):
        try:
            return Locale.parse(each, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale("en")


def known_locale(locale: str) -> str:
    """The normal form of a language. Raises `InvalidField`."""
    words = locale.replace("_", "-").split("-")
    if not (2 <= len(words[0]) <= 3 and all(word.isascii() and word.isalnum() for word in words)):
        raise InvalidField(
            "bad_locale", f"{locale!r} is not a language", field="locale", hint="such as en, de or pt-BR"
        )
    return normal_locale(locale)


def _optional(tree: nodes.Template) -> set[str]:
    """The names that a template uses only where they may be undefined."""
    guarded: dict[str, int] = {}
    for node in (*tree.find_all(nodes.Filter), *tree.find_all(nodes.Test)):
        if node.name in ("default", "d", "defined", "undefined"):
            for name in [node.node] if isinstance(node.node, nodes.Name) else []:
                guarded[name.name] = guarded.get(name.name, 0) + 1
    asked = {
        node.node.name
        for node in tree.find_all(nodes.Test)
        if node.name in ("defined", "undefined") and isinstance(node.node, nodes.Name)
    }
    asked |= {node.test.name for node in tree.find_all(nodes.If) if isinstance(node.test, nodes.Name)}
    used: dict[str, int] = {}
    for name in tree.find_all(nodes.Name):
        if name.ctx == "load":
            used[name.name] = used.get(name.name, 0) + 1
    return asked | {name for name, count in guarded.items() if used.get(name, 0) <= count}
