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
# `5 #2` may be meant as `5#2`, so a number does not begin a comment.
COMMENT = re.compile(r"(?:^|(?<=\s))#(?![0-9]).*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Form:
    """A schedule in a form of our own: `body` begins at `lead` in the text, unless it was translated."""

    body: str
    lead: int
    timezone: str | None = None
    start: datetime | None = None
    translated: bool = False

    def locate(self, error: ScheduleError) -> None:
        """Let an error about `body` point into the text; about a translation it says what was read."""
        if self.translated:
            if error.field == "schedule" and self.body not in error.message:
                error.message = f"{error.message} (read as {self.body})"
            error.position = None
        elif error.position is not None:
            error.position += self.lead


def read_form(text: str) -> Form:
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
