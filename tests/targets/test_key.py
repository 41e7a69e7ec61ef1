"""Idempotency keys: none without a bound, and one for each occurrence also when clocks go back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.targets.key import LONGEST_KEY, manual_key, occurrence_key

SUMMER = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)  # 01:30 in New York, for the first time


def named(payload: Any = None, scheduled_at: datetime = SUMMER) -> dict[str, Any]:
    return {
        "job_id": 1,
        "job_name": "report",
        "scheduled_at": scheduled_at,
        "timezone": "America/New_York",
        "payload": payload,
    }


@pytest.mark.parametrize(
    "make", [occurrence_key, lambda *given, **more: manual_key(*given, run_id=2, **more)]
)
def test_a_template_gives_so_many_characters_and_no_more(make: Any) -> None:
    text = "é" * LONGEST_KEY
    assert make("{{payload.text}}", **named({"text": text})).startswith(text)
    with pytest.raises(InvalidField, match="would have 501 characters") as refused:
        make("x{{payload.text}}", **named({"text": text}))
    assert refused.value.code == "key_too_long"


def test_both_hours_of_the_night_when_clocks_go_back_have_a_key_of_their_own() -> None:
    hours = [SUMMER + timedelta(hours=hour) for hour in range(-1, 3)]
    keys = [occurrence_key("{{date}}-{{hour}}", **named(scheduled_at=at)) for at in hours]
    assert keys == ["2026-11-01-00", "2026-11-01-01-0400", "2026-11-01-01-0500", "2026-11-01-02"]
