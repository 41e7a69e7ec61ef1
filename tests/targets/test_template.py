"""Keys: one per occurrence, whatever carries it out; a manual run has its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.targets.key import manual_key, occurrence_key
from sexton.targets.template import check_template

MONDAY = datetime(2026, 6, 8, 13, 0, tzinfo=UTC)


def key(template: str | None, scheduled_at: datetime = MONDAY, payload: Any = None, **more: Any) -> str:
    return occurrence_key(
        template,
        job_id=77,
        job_name="weekly",
        scheduled_at=scheduled_at,
        timezone=more.get("timezone", "America/New_York"),
        payload=payload,
    )


def test_the_default_is_the_job_and_the_scheduled_second() -> None:
    assert key(None) == f"{encode_id('j', 77)}:1780923600"
    assert key(None, MONDAY.replace(microsecond=999_999)) == key(None)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("report-{{week}}", "report-2026-W24"),
        ("{{ job_name }}/{{job_id}}", f"weekly/{encode_id('j', 77)}"),
        ("{{scheduled_at}}", "2026-06-08T13:00:00Z"),
        ("{{unix}}", "1780923600"),
        ("{{date}} {{year}} {{month}} {{day}} {{hour}}", "2026-06-08 2026 06 08 09"),
        ("{{payload.customer.id}}:{{payload.items.1}}", "42:b"),
        ("{{payload.flag}} {{payload.customer}}", 'true {"id":42}'),
        ("plain", "plain"),
    ],
)
def test_templates_are_filled_in_in_the_zone_of_the_job(template: str, expected: str) -> None:
    payload = {"customer": {"id": 42}, "items": ["a", "b"], "flag": True}
    check_template(template, payload)
    assert key(template, payload=payload) == expected


def test_the_week_is_the_iso_week_of_the_local_day() -> None:
    new_year = datetime(2027, 1, 1, 3, 0, tzinfo=UTC)
    assert key("{{week}} {{date}}", new_year) == "2026-W53 2026-12-31"
    assert key("{{week}} {{date}}", new_year, timezone="UTC") == "2026-W53 2027-01-01"


def test_both_hours_of_a_night_in_which_clocks_go_back_have_keys_of_their_own() -> None:
    """01:00 in New York comes twice on that day; its neighbours come once."""
    night = [datetime(2026, 11, 1, hour, tzinfo=UTC) for hour in range(4, 8)]
    assert [key("{{date}}-{{hour}}", at) for at in night] == [
        "2026-11-01-00",
        "2026-11-01-01-0400",
        "2026-11-01-01-0500",
        "2026-11-01-02",
    ]
    assert {key("{{date}}", at) for at in night} == {"2026-11-01"}


def test_a_manual_run_has_a_key_of_its_own() -> None:
    arguments: dict[str, Any] = {
        "job_id": 77, "job_name": "weekly", "scheduled_at": MONDAY, "timezone": "UTC", "run_id": 5,
    }  # fmt: skip
    assert manual_key(None, **arguments) == f"{encode_id('j', 77)}:manual:{encode_id('r', 5)}"
    assert manual_key("report-{{week}}", **arguments) == f"report-2026-W24:manual:{encode_id('r', 5)}"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{weekday}}", "weekday"),
        ("{{payload.missing}}", "not in the payload"),
        ("{{payload.list.7}}", "not in the payload"),
        ("{{}}", "not known"),
        ("{{week", "not closed"),
        ("week}}", "not closed"),
        ("  ", "empty"),
        ("x" * 501, "longer"),
        ("a\nb", "control character"),
    ],
)
def test_what_could_not_be_filled_in_is_refused(template: str, message: str) -> None:
    with pytest.raises(InvalidField, match=message) as caught:
        check_template(template, {"list": []})
    assert caught.value.field == "idempotency_key_template"
    assert caught.value.hint


PIECES = st.lists(
    st.text(max_size=20)
    | st.sampled_from(
        ["{{", "}}", "{{payload.a}}", "{{payload.b.0}}", "{{payload.b.9}}", "{{hour}}", "{{x}}"]
    ),
    max_size=8,
).map("".join)
PAYLOADS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(template=PIECES, payload=PAYLOADS)
def test_any_template_is_refused_at_once_or_can_be_filled_in(template: str, payload: Any) -> None:
    refusal: InvalidField | None = None
    try:
        check_template(template, payload)
    except InvalidField as refused:
        refusal = refused
    if refusal is None:
        assert "{{" not in key(template, payload=payload) or "{{" in str(payload)
    else:
        assert refusal.field == "idempotency_key_template"
        assert refusal.hint
