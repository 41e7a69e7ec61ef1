"""What the schedule commands answer, before anybody prints it; and answering many questions at once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from sexton import clock
from sexton.errors import ScheduleError
from sexton.schedules import Occurrence, Schedule, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_COUNT = 5
MAX_COUNT = 10_000


class Question(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A schedule with its options, as text; what is None was not given."""

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
        "exclude": tuple(map(_excluded, question.exclude or ())),
        "key": question.key,
        "seconds": question.seconds or "first",
    }
    schedule = parse(question.schedule, **options)
    try:
        schedule.next_after(made_at)
    except ScheduleError as error:
        if error.code != "anchor_missing":
            raise
    else:
        return Loaded(schedule, None)
    anchor = instant(question.starts_at, "starts_at") if question.starts_at else made_at
    if schedule.kind == "interval":
        anchor = anchor.replace(microsecond=0)
    elif not question.starts_at:
        anchor = anchor.replace(second=0, microsecond=0)
    return Loaded(parse(question.schedule, **{**options, "anchor": anchor}), anchor)


def upcoming(schedule: Schedule, after: datetime, count: int) -> list[Occurrence]:
    """The next `count` occurrences, and those skipped among them."""
    if not 1 <= count <= MAX_COUNT:
        raise ScheduleError("bad_count", f"count {count}: 1–{MAX_COUNT}", field="count")
    last = after
    for _ in range(count):
        due = schedule.next_after(last)
        if due is None:
            break
        last = due
    return list(schedule.occurrences(after, last)) if last > after else []


def answer(schedule: Schedule, occurrences: Iterable[Occurrence]) -> dict[str, Any]:
    """What `next --json` prints."""
    zone = ZoneInfo(schedule.timezone)
    return {
        "schedule": schedule.text,
        "kind": schedule.kind,
        "timezone": schedule.timezone,
        "explanation": schedule.explain(),
        "occurrences": [
            {"at": utc(each.at), "local": each.at.astimezone(zone).isoformat(), "note": each.note}
            for each in occurrences
            if each.skipped is None
        ],
    }


def answer_lines(lines: Iterable[bytes], output: IO[bytes]) -> None:
    """Answer each line as soon as it is read, in order; a bad one is answered with its error."""
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


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _error("bad_json", str(error))
    except Exception as error:
        # A fault of ours must not take the answers of the other lines with it.
        return _error("internal", f"{type(error).__name__}: {error}")


def _error(code: str, message: str, position: int | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "position": position}}


def _excluded(text: str) -> date | tuple[date, date]:
    first, dots, last = text.partition("..")
    try:
        if dots:
            return date.fromisoformat(first.strip()), date.fromisoformat(last.strip())
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ScheduleError(
            "bad_date",
            f"{text!r} is neither a date nor a range of dates",
            field="exclude",
            hint="like 2026-12-25 or 2026-12-24..2027-01-01",
        ) from None


def _refuse_naive(text: str, field: str) -> datetime:
    raise ScheduleError(
        "naive_time",
        f"{text} does not say in which zone",
        field=field,
        hint="add Z for UTC, or an offset like +02:00",
    )
