"""The checker of content finds what it is for: each doctored account is wrong in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.content_checker import (
    ContentLedger,
    MadeChange,
    PlannedChange,
    WindowSeries,
    check_content,
)

BEGAN = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
LATE = timedelta(milliseconds=20)


def good() -> ContentLedger:
    """A post and a page that are published, unpublished and published, and the windows of another page."""
    planned = [
        PlannedChange(
            10 * place + second, entity, "unpublish" if second == 1 else "publish", BEGAN + second * 50 * LATE
        )
        for place, entity in enumerate(("post/1", "page/1"), 1)
        for second in range(3)
    ]
    changes = [MadeChange(plan.entity, plan.action, plan.at + LATE, plan.schedule) for plan in planned]
    windows = [
        MadeChange("page/window", action, BEGAN + number * LATE, 99)
        for number, action in enumerate(["publish", "unpublish"] * 2)
    ]
    effects = [replace(change, schedule=None) for change in [*changes, *windows] if "page" in change.entity]
    return ContentLedger(
        planned,
        [*changes, *windows],
        effects,
        {"post/1": "published", "page/1": "published", "page/window": "unpublished"},
        {"page/1", "page/window"},
        [WindowSeries(99, "page/window", 3, opened=2, skipped=1)],
    )


def test_a_good_account_passes() -> None:
    assert check_content(good()) == {}


def lose_record(ledger: ContentLedger) -> None:
    del ledger.changes[1]


def lose_effect(ledger: ContentLedger) -> None:
    del ledger.effects[1]


def double_record(ledger: ContentLedger) -> None:
    ledger.changes.append(ledger.changes[0])


def double_effect(ledger: ContentLedger) -> None:
    ledger.effects.append(ledger.effects[0])


def record_early(ledger: ContentLedger) -> None:
    ledger.changes[0] = replace(ledger.changes[0], at=BEGAN - LATE)


def act_early(ledger: ContentLedger) -> None:
    ledger.effects[0] = replace(ledger.effects[0], at=BEGAN - LATE)


def turn_record(ledger: ContentLedger) -> None:
    ledger.changes[1], ledger.changes[2] = ledger.changes[2], ledger.changes[1]


def turn_effect(ledger: ContentLedger) -> None:
    ledger.effects[1], ledger.effects[2] = ledger.effects[2], ledger.effects[1]


def end_wrong(ledger: ContentLedger) -> None:
    ledger.states["post/1"] = "unpublished"


def do_unplanned(ledger: ContentLedger) -> None:
    ledger.changes.append(MadeChange("post/9", "publish", BEGAN, 77))


def leave_window_open(ledger: ContentLedger) -> None:
    del ledger.changes[-1]


def lose_window(ledger: ContentLedger) -> None:
    ledger.windows[0] = replace(ledger.windows[0], skipped=0)


def open_twice(ledger: ContentLedger) -> None:
    ledger.effects += [effect for effect in ledger.effects if effect.entity == "page/window"][:2]


def leave_unfinished(ledger: ContentLedger) -> None:
    ledger.left.append("publish of post/1")


@pytest.mark.parametrize(
    ("doctor", "finding"),
    [
        (lose_record, "lost"),
        (lose_effect, "lost"),
        (double_record, "doubled"),
        (double_effect, "doubled"),
        (record_early, "early"),
        (act_early, "early"),
        (turn_record, "out of order"),
        (turn_effect, "out of order"),
        (end_wrong, "lost"),
        (do_unplanned, "doubled"),
        (leave_window_open, "lost"),
        (lose_window, "lost"),
        (open_twice, "doubled"),
        (leave_unfinished, "unfinished"),
    ],
)
def test_what_is_wrong_is_found(doctor: Callable[[ContentLedger], None], finding: str) -> None:
    ledger = good()
    doctor(ledger)
    assert finding in check_content(ledger)
