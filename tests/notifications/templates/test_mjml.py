"""Mail written as MJML goes out as HTML."""

from __future__ import annotations

import pytest

from sexton.errors import InvalidField
from sexton.notifications.message import create_message, read_spec
from sexton.notifications.spec import EmailParts, TemplateSpec
from sexton.notifications.templates.aside import aside
from sexton.notifications.templates.mjml import MOST_BLOCKS, MOST_ELEMENTS, to_html
from sexton.notifications.templates.template import put_template
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.outbox import Outbox

MJML = """<mjml><mj-body><mj-section><mj-column>
<mj-text>Hello {{ name }}</mj-text><mj-button href="{{ unsubscribe_url }}">No more</mj-button>
</mj-column></mj-section></mj-body></mjml>"""


async def test_it_is_rendered_with_the_values_of_the_message(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await put_template(context, "mail", TemplateSpec(email=EmailParts(subject="Hello", mjml=MJML)))
    given = {"template_id": "mail", "channel": "email", "address": "ann@example.com"}
    await create_message(context, read_spec({**given, "template_vars": {"name": "<Ann>"}}))
    await engine.advance(seconds=5)
    [(_, message)] = outbox.sent
    html = message.parts["html"]
    assert html.lower().startswith("<!doctype html>")
    assert "Hello &lt;Ann&gt;" in html
    assert 'href="https://sexton.example.com/api/v1/notifications/unsubscribe/' in html
    assert "<mj-" not in html
    assert "mjml" not in message.parts


async def test_what_is_no_mjml_is_refused(context: Context) -> None:
    with pytest.raises(InvalidField) as caught:
        await put_template(context, "mail", TemplateSpec(email=EmailParts(subject="x", mjml="<mjml><b>")))
    assert caught.value.field == "email.mjml"


@pytest.mark.parametrize(
    ("tag", "most"), [("mj-wrapper", MOST_BLOCKS - 10), ("div", MOST_ELEMENTS - MOST_BLOCKS - 10)]
)
async def test_elements_inside_each_other_do_not_end_the_process(tag: str, most: int) -> None:
    """As many as may be, all of them inside each other, and both kinds at once."""

    def nested(tag: str, count: int, inside: str = "") -> str:
        return f"<{tag}>" * count + inside + f"</{tag}>" * count

    inside = nested(tag, most) if tag != "div" else f"<mj-raw>{nested(tag, most)}</mj-raw>"
    wrapped = inside if tag != "div" else nested("mj-wrapper", MOST_BLOCKS - 10, inside)
    made = await aside(to_html, f"<mjml><mj-body>{wrapped}</mj-body></mjml>")
    assert made.startswith("<!")
    for many in (f"<{tag}>" * (MOST_ELEMENTS + 1), nested(tag, MOST_ELEMENTS + 1)):
        with pytest.raises(InvalidField, match="elements"):
            to_html(f"<mjml><mj-body>{many}</mj-body></mjml>")
