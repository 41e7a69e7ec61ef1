"""What the API says with a code is shown as a word: each has a German one."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest

from sexton.content.model import Action, EntityState, OnFailure
from sexton.model import JobStatus, RunStatus, SkipReason, Trigger
from sexton.notifications.model import EventKind, MessageStatus
from sexton.notifications.recipients.quiet import WEEKDAYS
from sexton.security.role import Role

CATALOGUE = Path(__file__).parent.parent / "console" / "src" / "i18n" / "de.ts"
CODES: tuple[type[StrEnum], ...] = (
    JobStatus, RunStatus, SkipReason, Trigger, Action, EntityState, OnFailure, MessageStatus, EventKind, Role,
)  # fmt: skip


def german() -> set[str]:
    keys = re.findall(
        r"^  (?:'((?:[^'\\]|\\.)*)'|(\w+)):", CATALOGUE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {quoted or plain for quoted, plain in keys}


@pytest.mark.parametrize("codes", CODES, ids=lambda codes: codes.__name__)
def test_every_code_has_a_word(codes: type[StrEnum]) -> None:
    wanted = {code.value for code in codes}
    if codes is EventKind:
        wanted = {each.replace("_", " ") for each in wanted}
    assert wanted - german() == set()


def test_every_day_has_a_word() -> None:
    assert set(WEEKDAYS) - german() == set()
