"""Celery tasks as messages: what is refused, and what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.model import Cancel, Failure, Success
from sexton.targets.celery.step import read_result

GOOD: dict[str, Any] = {"broker": "redis", "url": "redis://host:6379/0", "task": "shop.bill"}


@pytest.mark.parametrize(
    ("changes", "field", "hint"),
    [
        ({"broker": "kafka"}, "target.celery.broker", ""),
        ({"url": "amqp://host"}, "target.celery.url", "redis://host:6379/0"),
        ({"task": " "}, "target.celery.task", ""),
        ({"args": ["{{payload.absent}}"]}, "target.celery.args", "payload"),
        ({"kwargs": {"a": {"b": ["{{nobody}}"]}}}, "target.celery.kwargs", "run_id"),
        ({"result_url": "redis://host/1"}, "target.celery.wait", "true"),
        ({"broker": "rabbitmq", "url": "amqp://host/", "wait": True}, "target.celery.result_url", "redis://"),
        ({"wait": True, "result_url": "amqp://host"}, "target.celery.result_url", "redis://"),
        ({"tasks": "x"}, "target.celery.tasks", "task"),
    ],
)
def test_what_cannot_work_is_refused_when_the_job_is_made(
    changes: dict[str, Any], field: str, hint: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        read_spec({"name": "a", "schedule": "@daily", "target": {"celery": {**GOOD, **changes}}})
    assert refused.value.field == field
    assert hint in (refused.value.hint or "")


def test_good_ones_are_taken() -> None:
    for changes in ({}, {"wait": True}, {"url": {"secret": "redis"}}, {"args": ["{{date}}", 1]}):
        read_spec({"name": "a", "schedule": "@daily", "target": {"celery": {**GOOD, **changes}}})


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"status": "SUCCESS", "result": 3}, Success(3)),
        ({"status": "REVOKED"}, Cancel("the task was revoked")),
        ({"status": "STARTED"}, None),
        (
            {"status": "FAILURE", "result": {"exc_type": "ValueError", "exc_message": ["no", 1]}},
            Failure("ValueError: no 1"),
        ),
    ],
)
def test_results_are_outcomes(told: dict[str, Any], outcome: Any) -> None:
    assert read_result(json.dumps(told).encode()) == outcome
