"""The form of a text: what stands around a schedule is taken off, and a foreign form is turned into our own.

Around it may stand a byte order mark, a comment, and the zone (`CRON_TZ=` or `TZ=`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from sexton.errors import ScheduleError
from sexton.schedules.foreign import translate
from sexton.schedules.lines import is_recurrence

# A byte order mark, and what text editors and chats put for a space, a hyphen and a star. Each becomes the
# plain character, so that positions stay.
PLAIN = {
    **dict.fromkeys(map(ord, "\ufeff\u200b\u00a0\u2009\u202f"), " "),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2217\uff0a\u204e"), "*"),
}
QUOTES = "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
ZONE = re.compile(
    r"""\s*(?:CRON_TZ|TZ)\s*=\s*(?:(?P<quote>["'])(?P<quoted>[^"']+)(?P=quote)|(?P<plain>[^\s"']+))\s+""",
    re.IGNORECASE,
)
# `5 #2` may mean `5#2`, so a comment does not begin with a number.
COMMENT = re.compile(r"(?:^|(?<=\s))#(?![0-9]).*", re.MULTILINE)
LONGEST_TEXT = 2048


@dataclass(frozen=True, slots=True)
class Form:
    """A schedule in a form of our own: `body` begins at `lead` in the text, unless it was translated."""

    body: str
    lead: int
    timezone: str | None = None
    start: datetime | None = None
    translated: bool = False

    def locate(self, error: ScheduleError) -> None:
        """Let an error about `body` point into the text. If the text was translated, the error says into
        what."""
        if self.translated:
            if error.field == "schedule" and self.body not in error.message:
                error.message = f"{error.message} (read as {self.body})"
            error.position = None
        elif error.position is not None:
            error.position += self.lead


def check_text(text: str) -> None:
    """Refuse what is no text, is empty or is too long."""
    example = "write for example 0 9 * * 1-5"
    if not isinstance(text, str):
        raise ScheduleError("bad_text", f"a schedule is text, not {type(text).__name__}", hint=example)
    if not text.strip():
        raise ScheduleError("empty", "the schedule is empty", position=0, hint=example)
    if len(encoded := text.encode("utf-8", "replace")) > LONGEST_TEXT:
        long_event = re.match(r"\s*BEGIN:", text, re.IGNORECASE)
        raise ScheduleError(
            "too_long",
            f"the schedule is longer than {LONGEST_TEXT} bytes",
            position=len(encoded[:LONGEST_TEXT].decode("utf-8", "ignore")),
            hint="paste only the lines DTSTART, RRULE, RDATE and EXDATE" if long_event else "split it",
        )


def read_form(text: str) -> Form:
    check_text(text)
    plain = text.translate(PLAIN)
    if not is_recurrence(plain[_lead(plain) :]):
        plain = COMMENT.sub(lambda comment: " " * len(comment[0]), plain)
    prefix, lead = ZONE.match(plain), _lead(plain)
    named = (prefix["quoted"] or prefix["plain"]) if prefix else None
    body = plain[lead:].rstrip()
    if len(body) > 2 and body[0] in QUOTES and body[-1] in QUOTES:
        hint = f"write {body[1:-1].strip()}"
        raise ScheduleError("bad_text", "the schedule is in quotes", position=lead, hint=hint)
    native = translate(body)
    if native is None:
        return Form(body, lead, named)
    if named and native.timezone and named != native.timezone:
        raise ScheduleError(
            "timezone_conflict",
            f"the text names two zones, {named} and {native.timezone}",
            position=0,
            hint="name one zone",
        )
    return Form(native.text, lead, named or native.timezone, native.start, translated=True)


def _lead(text: str) -> int:
    """Where the schedule begins, after spaces and the zone."""
    prefix = ZONE.match(text)
    return prefix.end() if prefix else len(text) - len(text.lstrip())
