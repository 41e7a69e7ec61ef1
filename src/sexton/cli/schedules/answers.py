"""The answers of the schedule commands, and answering many questions at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from sexton import clock
from sexton.clock import iso
from sexton.errors import ScheduleError
from sexton.refusal import UNREADABLE
from sexton.schedules import Occurrence, Schedule, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_COUNT = 5
MAX_COUNT = 10_000

# A rule of every second around an excluded month would skip 2.6 million times before it fires.
MOST_SKIPPED = 20

END = datetime.max.replace(tzinfo=UTC)


class Question(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A schedule with its options, as text; None means not given."""

    schedule: str
    timezone: str | None = None
    after: str | None = None
    count: int | None = None
    anchor: str | None = None
    gap: str | None = None
    fold: str | None = None
    kind: str | None = None
    starts_at: str | None = None
    ends_at: str | None = None
    exclude: tuple[str, ...] | None = None
    key: str | None = None
    seconds: str | None = None


class Loaded(NamedTuple):
    schedule: Schedule
    assumed_anchor: datetime | None


def load(question: Question, made_at: datetime) -> Loaded:
    """Parse; a rule that needs an anchor and has none gets that of a job made at `made_at`."""
    options: dict[str, Any] = {
        "timezone": question.timezone,
        "kind": question.kind,
        "anchor": question.anchor,
        "gap": question.gap,
        "fold": question.fold,
        "starts_at": question.starts_at,
        "ends_at": question.ends_at,
        "exclude": question.exclude or (),
        "key": question.key,
        "seconds": question.seconds,
    }
    schedule = parse(question.schedule, **options)
    if not schedule.needs_anchor:
        return Loaded(schedule, None)
    anchor = (
        made_at.replace(second=0, microsecond=0)
        if schedule.kind == "recurrence"
        else made_at.replace(microsecond=0)
    )
    return Loaded(parse(question.schedule, **{**options, "anchor": anchor}), anchor)


def upcoming(schedule: Schedule, after: datetime, count: int) -> list[Occurrence]:
    """The next `count` occurrences with the skipped ones among them, but at most `MOST_SKIPPED` skipped in a
    row."""
    if not 1 <= count <= MAX_COUNT:
        raise ScheduleError("bad_count", f"count is {count}", field="count", hint=f"give 1 to {MAX_COUNT}")
    found: list[Occurrence] = []
    left, skipped = count, 0
    walk = schedule.occurrences(after, END)
    while (each := next(walk, None)) is not None:
        found.append(each)
        if each.skipped is None:
            left, skipped = left - 1, 0
            if not left:
                break
        elif (skipped := skipped + 1) == MOST_SKIPPED:
            due = schedule.next_after(each.at)
            rest = "all later ones too" if due is None else "the others up to the next below too"
            found[-1] = replace(each, note=f"{each.note or each.skipped}; {rest}")
            if due is None:
                break
            walk, skipped = schedule.occurrences(due - timedelta(microseconds=1), END), 0
    return found


def answer(schedule: Schedule, occurrences: Iterable[Occurrence]) -> dict[str, Any]:
    """The output of `next --json`."""
    zone = ZoneInfo(schedule.timezone)
    return {
        "schedule": schedule.text,
        "kind": schedule.kind,
        "timezone": schedule.timezone,
        "explanation": schedule.explain(),
        "warnings": schedule.warnings,
        "occurrences": [
            {"at": iso(each.at), "local": each.at.astimezone(zone).isoformat(), "note": each.note}
            for each in occurrences
            if each.skipped is None
        ],
    }


def answer_lines(lines: Iterable[bytes], output: IO[bytes]) -> None:
    """Answer each line as soon as it is read, in order; a bad line is answered with its error."""
    decoder, encoder = msgspec.json.Decoder(Question), msgspec.json.Encoder()
    for line in lines:
        output.write(encoder.encode(_answer_line(line, decoder)) + b"\n")
        output.flush()


def instant(text: str, field: str) -> datetime:
    """An ISO-8601 instant, with Z or an offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo else _refuse_naive(text, field)
    except (ValueError, OverflowError):
        raise ScheduleError(
            "bad_time", f"{text!r} is not an ISO-8601 instant", field=field, hint="like 2026-10-20T00:00:00Z"
        ) from None


def _answer_line(line: bytes, decoder: msgspec.json.Decoder[Question]) -> dict[str, Any]:
    try:
        question = decoder.decode(line)
        after = instant(question.after, "after") if question.after is not None else clock.now()
        schedule = load(question, after).schedule
        count = DEFAULT_COUNT if question.count is None else question.count
        return answer(schedule, upcoming(schedule, after, count))
    except ScheduleError as error:
        return _error(error.code, error.message, error.position)
    except msgspec.ValidationError as error:
        return _error("bad_request", str(error))
    except UNREADABLE as error:
        return _error("bad_json", str(error))
    except Exception as error:
        # An internal error in one line must not prevent the answers to the others.
        return _error("internal", f"{type(error).__name__}: {error}")


def _error(code: str, message: str, position: int | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "position": position}}


def _refuse_naive(text: str, field: str) -> datetime:
    raise ScheduleError(
        "naive_time",
        f"{text} has no zone",
        field=field,
        hint="add Z for UTC, or an offset like +02:00",
    )
