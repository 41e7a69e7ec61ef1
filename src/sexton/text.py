"""Lines of text that people read."""

from __future__ import annotations

import re

from sexton.errors import InvalidField

_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff]")


def check_text(text: str, field: str, longest: int) -> str:
    """No longer than it may be, not empty, no control characters but line ends."""
    if not text.strip():
        raise InvalidField("empty", f"{field} is empty", field=field, hint="write something, or leave it out")
    if len(text) > longest:
        raise InvalidField(
            "too_long", f"{field} has {len(text)} characters", field=field, hint=f"at most {longest}"
        )
    if found := _UNPRINTABLE.search(text):
        raise InvalidField(
            "nul_character" if found[0] == "\0" else "bad_text",
            f"{field} contains the character U+{ord(found[0]):04X}",
            field=field,
            hint="remove it",
        )
    return text
