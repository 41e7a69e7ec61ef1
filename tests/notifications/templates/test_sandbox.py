"""Templates of others: what takes too much, or reaches for Python, is stopped."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.exceptions import TemplateError

from sexton.errors import InvalidField
from sexton.notifications.templates.rendering import NotRendered, Place, TextCompiler
from sexton.notifications.templates.sandbox import Sandbox
from sexton.notifications.templates.template import used_variables

PLACE = Place("Europe/Berlin", "de-AT")


def render(text: str, name: str = "text", **values: object) -> str:
    compiler = TextCompiler()
    texts = compiler.texts(("default", "t", 1), {"": {"email": {name: text}}}, None, "email")
    assert texts is not None
    return texts.render(values, PLACE)[name]


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 10**9 }}",
        "{{ [[1] * 1000] * 1000 * 1000 }}",
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{{ (10**1000)**1000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ range(10**9) }}",
        "{{ ('a' * 1000000)|replace('a', 'b' * 1000000) }}",
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(1) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ name.__init__.__globals__ }}",
        "{{ missing }}",
        "{{ name|truncate(-1) }}",
        "{{ name|dictsort }}",
    ],
)
def test_what_takes_too_much_or_reaches_for_python_fails(text: str) -> None:
    with pytest.raises(NotRendered):
        render(text, name="Ann")


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'x' %}",
        "{% extends 'x' %}",
        "{{ x|attr('__class__') }}",
        "{{ 'x'|center(10) }}",
        "{{",
        "{% if x %}" * 101 + "{% endif %}" * 101,
        "{% for x in y %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_what_is_not_possible_is_refused_when_it_is_written(text: str) -> None:
    with pytest.raises(TemplateError):
        TextCompiler().compile("text", text)


def test_a_text_that_doubles_again_and_again_is_stopped() -> None:
    doubling = "{% set a = 'xxxxxxxx' %}" + "{% set a = a ~ a %}" * 30 + "{{ a }}"
    with pytest.raises(NotRendered, match="characters"):
        render(doubling)


def test_dates_are_in_the_zone_and_language_of_the_recipient() -> None:
    assert render("{{ at|datetime('short') }}", at="2027-03-14T09:00:00Z") == "14.03.27, 10:00"
    assert render("{{ at|date('full') }}", at="2027-03-14T23:30:00Z") == "Montag, 15. März 2027"
    assert render("{{ 1234.5|currency('EUR') }}").replace("\N{NO-BREAK SPACE}", " ") == "€ 1.234,50"
    with pytest.raises(NotRendered, match="no time zone"):
        render("{{ at|datetime }}", at="2027-03-14T09:00:00")


def test_values_are_escaped_in_html_and_not_in_text() -> None:
    assert render("<b>{{ n }}</b>{{ '<i>' ~ n }}", "html", n="<x>") == "<b>&lt;x&gt;</b>&lt;i&gt;&lt;x&gt;"
    assert render("{{ n }}", n="<x>") == "<x>"


def test_a_subject_is_one_line() -> None:
    assert (
        render("Hello\r\nBcc: {{ n }}", "subject", n="eve\r\n@example.org") == "Hello Bcc: eve @example.org"
    )


def test_what_a_text_needs_is_told_from_what_it_asks_for() -> None:
    text = "{{ a }}{{ b|default('x') }}{% if c %}{{ c }}{% endif %}{% if d is defined %}{{ d }}{% endif %}"
    assert TextCompiler().variables(text) == {"a": True, "b": False, "c": False, "d": False}


# Anything at all.

SANDBOX = Sandbox(autoescape=False)
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "<", "==", "in", "and", "or"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ATOMS = st.sampled_from(
    ["a", "b", "c.x", "a[0]", "b['k']", "'text'", "7", "-1", "1.5", "2**60", "[]", "[1, a]", "{}", "{'k': b}",
     "none", "true", "loop", "self", "range(5)", "range(a)", "dict(k=a)", "a.__class__", "namespace()",
     "cycler(a)", "joiner()", "lipsum()", "caller", "varargs", "a.format(b)", "'%s' % a",
     "'{0[0]}'.format(a)", "a.items()",
     "b.pop()", "a.upper()", "a.encode()", "a.real", "a.strftime('%Y')"]
)  # fmt: skip
FILTERS = st.sampled_from([*sorted(SANDBOX.filters), "date", "datetime", "currency('EUR')", "number", "time"])
TESTS = st.sampled_from(sorted(each for each in SANDBOX.tests if each.isidentifier()))
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, FILTERS).map("|".join),
        st.tuples(inner, FILTERS, inner).map(
            lambda parts: f"{parts[0]}|{parts[1].split('(')[0]}({parts[2]})"
        ),
        st.tuples(inner, TESTS).map(lambda parts: f"({parts[0]} is {parts[1]})"),
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]}[{parts[1]}]"),
    ),
    max_leaves=5,
)
PIECES = st.one_of(
    st.text(max_size=8),
    EXPRESSIONS.map("{{{{ {} }}}}".format),
    EXPRESSIONS.map("{{% if {} %}}yes{{% endif %}}".format),
    EXPRESSIONS.map("{{% for a in {} %}}{{{{ a }}}}{{% endfor %}}".format),
    EXPRESSIONS.map("{{% set b = {} %}}".format),
    st.sampled_from(
        ["{{", "}}", "{%", "%}", "{#", "{% raw %}", "{% block x %}", "{% endblock %}", "{% do a %}"]
    ),
)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    text=st.lists(PIECES, min_size=1, max_size=4).map("".join),
    name=st.sampled_from(["text", "html", "subject"]),
    a=VALUES,
    b=VALUES,
)
def test_any_text_is_refused_when_it_is_written_or_rendered_or_says_why_not(
    text: str, name: str, a: Any, b: Any
) -> None:
    compiler = TextCompiler()
    with suppress(TemplateError, NotRendered):
        compiler.variables(text)
        texts = compiler.texts(("default", "t", 1), {"": {"email": {name: text}}}, None, "email")
        assert texts is not None
        made = texts.render({"a": a, "b": b, "c": {"x": a}}, PLACE)[name]
        assert "<class " not in made


NESTED = "{% set a = 1 %}{% set b = 1 %}" + "{% set a = (a, a) %}{% set b = (b, b) %}" * 60


@pytest.mark.parametrize(
    "use",
    [
        "{{ a == b }}", "{{ a < b }}", "{{ a in [b] }}", "{{ a is eq(b) }}", "{{ {a: 1} }}", "{{ {}[a] }}",
        "{{ {}.get(a) }}", "{{ [a].index(b) }}", "{{ [a, b]|unique|list }}", "{{ [a, b]|max }}",
        "{{ dict([(a, 1)]) }}", "{{ [a]|select('eq', b)|list }}",
        "{{ a is in([b]) }}",
    ],
)  # fmt: skip
def test_what_has_its_parts_many_times_is_not_compared(use: str) -> None:
    """It would take years, with a template of some lines."""
    with pytest.raises(NotRendered):
        render(NESTED + use)


def test_the_code_of_a_text_is_bounded() -> None:
    many = "".join(f"{{{{ x{number} }}}}" for number in range(3000))
    assert len(TextCompiler().variables(many)) == 3000
    with pytest.raises(TemplateError, match="in tags"):
        TextCompiler().compile("text", many * 2)
    with pytest.raises(InvalidField, match="in tags"):
        used_variables({locale: {"sms": {"text": many}} for locale in ("de", "en", "fr", "it", "es")})
