"""Text for people: numbers of things; and foreign text that is safe for terminals and logs.

Answers of services appear in errors, logs and tables. Their control characters could move the cursor, change
the window's title or reverse the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# C0 without tab and line end, DEL and C1; marks that reverse or hide text; ends of lines and of paragraphs;
# surrogates.
_CONTROLS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

# What a formula begins with; in full width, as East Asian spreadsheets know it, too.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def counted(number: float, thing: str, things: str | None = None) -> str:
    """`1 job`, `2,000 jobs`, `0.5 seconds`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {thing if number == 1 else things or thing + 's'}"


def all_counted(counts: Mapping[str, int]) -> str:
    """`2,000 active, 1 paused`, or `none`."""
    return ", ".join(f"{count:,} {thing}" for thing, count in counts.items()) or "none"


def printable(text: str) -> str:
    """The text with a replacement character for each control character; line ends and tabs stay."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def printable_json(text: str) -> str:
    """JSON with the controls inside its texts escaped: the same values, in harmless characters."""
    return _CONTROLS.sub(lambda found: _escaped(ord(found[0])), text)


def cell_text(text: str) -> str:
    """The text of a cell of CSV: what a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _escaped(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
