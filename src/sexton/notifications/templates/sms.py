"""The length of an SMS in segments, as networks count and charge them."""

from __future__ import annotations

from typing import NamedTuple

#: The alphabet of GSM 03.38. Characters of the extension count twice.
BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("^{}\\[~]|€\f")
ONE_BASIC, MORE_BASIC = 160, 153
ONE_WIDE, MORE_WIDE = 70, 67


class SmsLength(NamedTuple):
    """The length of a text, the number of segments, and the encoding: GSM-7 or UCS-2."""

    length: int
    segments: int
    encoding: str


def measure(text: str) -> SmsLength:
    if all(each in BASIC or each in EXTENDED for each in text):
        places = [2 if each in EXTENDED else 1 for each in text]
        return SmsLength(sum(places), _segments(places, ONE_BASIC, MORE_BASIC), "GSM-7")
    places = [2 if ord(each) > 0xFFFF else 1 for each in text]
    return SmsLength(sum(places), _segments(places, ONE_WIDE, MORE_WIDE), "UCS-2")


def _segments(places: list[int], one: int, more: int) -> int:
    """The number of segments. A segment never ends inside a character."""
    if sum(places) <= one:
        return 1
    segments, left = 1, more
    for each in places:
        if each > left:
            segments, left = segments + 1, more
        left -= each
    return segments
