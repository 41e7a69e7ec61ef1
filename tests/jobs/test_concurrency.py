"""Concurrency keys: what they may name, and what they become."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.jobs.concurrency import check_concurrency_key, concurrency_key
from sexton.jobs.validation import read_spec


def test_a_key_comes_from_the_job_and_the_payload() -> None:
    def key(template: str | None, payload: Any = None) -> str | None:
        return concurrency_key(template, job_id=33, job_name="report", payload=payload)

    assert key(None) is None
    assert key("{{payload.customer}}", {"customer": "acme"}) == "acme"
    assert key("{{ payload.ids.0 }}/{{job_name}}", {"ids": [7]}) == "7/report"
    assert key("{{job_id}}") == "j_11"
    assert key("one for all") == "one for all"


@pytest.mark.parametrize(
    ("template", "payload", "code"),
    [
        ("", None, "empty"),
        ("{{payload.customer}}", None, "bad_template"),
        ("{{payload.customer}}", {"customer": ""}, "bad_concurrency_key"),
        ("{{payload.customer}}", {"customer": "x" * 201}, "bad_concurrency_key"),
        ("{{payload.customer}}", {"customer": "x" * 501}, "bad_concurrency_key"),
        ("{{hour}}", None, "bad_template"),
        ("{{run_id}}", None, "bad_template"),
        ("{{job_id", None, "bad_template"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(template: str, payload: Any, code: str) -> None:
    with pytest.raises(InvalidField) as refused:
        check_concurrency_key(template, "a", payload)
    assert (refused.value.code, refused.value.field) == (code, "concurrency_key")
    assert refused.value.hint
    with pytest.raises(InvalidField):
        read_spec({"name": "a", "schedule": "@daily", "concurrency_key": template, "payload": payload})


def test_what_a_run_lacks_is_named() -> None:
    with pytest.raises(InvalidField, match=r"payload\.customer") as refused:
        concurrency_key("{{payload.customer}}", job_id=1, job_name="a", payload={})
    assert refused.value.field == "concurrency_key"


def test_the_name_of_the_job_is_a_key() -> None:
    fields = {"schedule": "@daily", "concurrency_key": "{{job_name}}"}
    assert read_spec({"name": "report", **fields}).concurrency_key == "{{job_name}}"
    with pytest.raises(InvalidField, match="characters long"):
        read_spec({"name": "r" * 150, **fields, "concurrency_key": "{{job_name}}{{job_name}}"})
