"""SMS as networks count them."""

from __future__ import annotations

import pytest

from sexton.notifications.templates.sms import measure


@pytest.mark.parametrize(
    ("text", "length", "segments", "encoding"),
    [
        ("", 0, 1, "GSM-7"),
        ("a" * 160, 160, 1, "GSM-7"),
        ("a" * 161, 161, 2, "GSM-7"),
        ("a" * 306, 306, 2, "GSM-7"),
        ("a" * 307, 307, 3, "GSM-7"),
        ("€" * 80, 160, 1, "GSM-7"),
        ("a" * 152 + "€" + "b" * 10, 164, 2, "GSM-7"),
        ("ж" * 70, 70, 1, "UCS-2"),
        ("ж" * 71, 71, 2, "UCS-2"),
        ("😀" * 35, 70, 1, "UCS-2"),
        ("😀" * 36, 72, 2, "UCS-2"),
    ],
)
def test_segments(text: str, length: int, segments: int, encoding: str) -> None:
    assert measure(text) == (length, segments, encoding)
