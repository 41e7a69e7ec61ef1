"""The decision about a message whose time has come, without a database."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from sexton.notifications.recipients.quiet import read_ranges
from sexton.notifications.sending.hold import (
    Circumstances,
    DueMessage,
    Held,
    Sent,
    Suppressed,
    TooLate,
    decide,
)
from sexton.notifications.spec import QuietRange

NOW = datetime(2027, 3, 1, 22, 30, tzinfo=UTC)
BASE = DueMessage(
    channels=["email", "sms"],
    channel_index=0,
    topic="news",
    urgency=None,
    scheduled_at=NOW,
    expires_at=None,
    user_id="ann",
    timezone="UTC",
    quiet_hours=None,
    opt_outs=None,
    caps=None,
    addresses={"email": "ann@example.org", "sms": "+49151"},
)
NIGHT = '{"start": "22:00", "end": "08:00"}'


def decided(message: DueMessage = BASE, **circumstances: Any) -> Any:
    return decide(message, Circumstances(now=NOW, **circumstances))


def test_nothing_holds_it() -> None:
    found = decided()
    assert (type(found), found.channel_index, found.passed) == (Sent, 0, ())


def test_too_late_is_too_late_by_so_much() -> None:
    message = BASE._replace(scheduled_at=NOW - timedelta(minutes=31), expires_at=NOW - timedelta(minutes=1))
    assert decided(message) == TooLate(timedelta(minutes=31))
    assert isinstance(decided(message._replace(expires_at=NOW)), Sent)


@pytest.mark.parametrize(
    ("opt_outs", "suppressed"),
    [
        ('[{"topic": "news"}]', True),
        ('[{"topic": "offers"}]', False),
        ('[{"channel": "email"}, {"channel": "sms", "topic": "news"}]', True),
    ],
)
def test_opt_outs(opt_outs: str, suppressed: bool) -> None:
    assert isinstance(decided(BASE._replace(opt_outs=opt_outs)), Suppressed) is suppressed


def test_a_channel_that_is_not_possible_is_passed_over() -> None:
    found = decided(suppressed={("email", "ann@example.org"): "it bounced"})
    assert (found.channel_index, found.passed[0].reason) == (1, "it bounced")


def test_an_address_of_a_channel_of_ones_own_is_suppressed_as_it_is_written() -> None:
    chat = BASE._replace(channels=["chat"], addresses={"chat": "U02ABC"})
    assert isinstance(decided(chat, suppressed={("chat", "U02ABC"): "asked"}), Suppressed)


def test_quiet_hours_of_the_recipient_come_before_those_of_the_namespace() -> None:
    assert decided(quiet_hours=NIGHT).until == datetime(2027, 3, 2, 8, tzinfo=UTC)
    own = BASE._replace(quiet_hours='{"start": "01:00", "end": "02:00"}')
    assert isinstance(decided(own, quiet_hours=NIGHT), Sent)
    assert isinstance(decided(BASE._replace(urgency="asap"), quiet_hours=NIGHT), Sent)
    urgent = BASE._replace(urgency="asap")
    assert isinstance(decided(urgent, quiet_hours=NIGHT, quiet_passes=frozenset()), Held)


def test_a_message_is_held_until_all_agree() -> None:
    """The cap leaves room at midnight, but then it is quiet until eight; the window opens at nine."""
    message = BASE._replace(caps='[{"channel": "email", "n": 1, "per": "day"}]', quiet_hours=NIGHT)
    found = decided(
        message,
        counts={("ann", "email/day", date(2027, 3, 1)): 1},
        window=read_ranges(QuietRange(start="09:00", end="20:00")),
    )
    assert found.until == datetime(2027, 3, 2, 9, tzinfo=UTC)
    assert found.reason.startswith("quiet hours")


def test_caps_count_what_is_sent_in_the_same_batch() -> None:
    message = BASE._replace(caps='[{"n": 2, "per": "week"}]')
    together = Circumstances(now=NOW)
    found = [decide(message, together) for _ in range(3)]
    assert [type(each) for each in found] == [Sent, Sent, Held]
    assert isinstance(found[2], Held)
    assert found[2].until == datetime(2027, 3, 8, tzinfo=UTC)  # Monday


def test_a_hold_beyond_its_expiry_ends_when_it_expires() -> None:
    message = BASE._replace(quiet_hours=NIGHT, expires_at=NOW + timedelta(minutes=30))
    assert decided(message).until == NOW + timedelta(minutes=30, seconds=1)
