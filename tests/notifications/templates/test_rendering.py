"""A text with nothing but names in it is filled in without the sandbox, and comes out the same."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.notifications.templates.rendering import CompiledTexts, NotRendered, Place, TextCompiler

HERE = Place("UTC", "en")


def compiled(**texts: str) -> CompiledTexts:
    found = TextCompiler().texts(("default", "hello", 1), {"": {"email": texts}}, None, "email")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "texts",
    [
        {
            "subject": "Hello {{ name }}",
            "text": "Dear {{name}},\n\n{{ city }}!\n",
            "html": "<b>{{ name }}</b>",
        },
        {
            "subject": "  two \n lines {{ name }} ",
            "text": "{% raw %}{{ name }}{% endraw %}{# not shown #}\n\n",
        },
        {"subject": "nothing to fill in", "text": "at all"},
        {"text": "{{ name }}{{ name }}", "mjml": "<mjml>{{ other }}</mjml>"},
    ],
)
def test_it_is_the_same_as_in_the_sandbox(texts: dict[str, str]) -> None:
    made, values = compiled(**texts), {"name": "Ann & <Bob>\n", "city": "Łódź"}
    filled = made.fill(values)
    assert filled is not None
    assert filled == made.render(values, HERE)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{{ name }}", {}),
        ("{{ name }}", {"name": None}),
        ("{{ name }}", {"name": 3}),
        ("{{ name|upper }}", {"name": "ann"}),
        ("{% if name %}{{ name }}{% endif %}", {"name": "ann"}),
        ("{{ recipient }}", {"recipient": "a field of this name"}),
        ("{{ unsubscribe_url }}", {"unsubscribe_url": "a field of this name"}),
        ("{{ name }}" * 2, {"name": "x" * 600_000}),
    ],
)
def test_what_is_more_than_that_is_left_to_the_sandbox(text: str, values: dict[str, Any]) -> None:
    assert compiled(text=text).fill(values) is None


def test_a_line_that_is_too_long_is_refused_alike() -> None:
    made, values = compiled(subject="{{ name }}"), {"name": "x" * 999}
    for render in (made.fill, lambda given: made.render(given, HERE)):
        with pytest.raises(NotRendered, match="999 characters"):
            render(values)
