"""Masking secrets in what is recorded and shown, in whatever way they are written."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from math import inf
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from sexton import clock

MASK = "•••"
# Shorter texts are too likely to stand for something else.
SHORTEST_MASKED = 4
# A text that was cut may end, or begin, in the middle of a secret.
SHORTEST_CUT = 6
CUT = "…"
# How URLs and JSON encode a character; some programs write the digits in the other case.
ENCODED = re.compile(r"%[0-9A-F]{2}|\\u[0-9a-f]{4}")
URL_SAFE = str.maketrans("+/", "-_")


class Mask:
    """The texts to mask, in every spelling that clients and services may use."""

    def __init__(self) -> None:
        #: By text: until when it is masked, and all that stands for it.
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._masked: tuple[str, ...] = ()

    def remember(self, value: str, seconds: float = inf) -> None:
        """Mask a text from now on, or only for so long, as a token that is renewed."""
        now = clock.monotonic()
        until, ways = self._known.get(value) or (now, _ways(value))
        kept = {text: known for text, known in self._known.items() if known[0] > now}
        if until == inf and len(kept) == len(self._known):
            return
        self._known = {**kept, value: (max(until, now + seconds), ways)}
        # The longest first: a part of a secret must not break up the whole.
        masked = frozenset[str]().union(*(ways for _, ways in self._known.values()))
        self._masked = tuple(sorted(masked, key=len, reverse=True))

    def text(self, text: str) -> str:
        """The text without any secret, and without the parts of one at its ends."""
        for value in self._masked:
            if value in text:
                text = text.replace(value, MASK)
        end = CUT if text.endswith(CUT) else ""
        body = text.removesuffix(end)
        for value in self._masked:
            body = _without_cut(body, value)
        return body + end

    def value(self, value: Any) -> Any:
        """The same for every text inside a JSON value."""
        if not self._masked:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.text(str(name)): self.value(item) for name, item in value.items()}
        return value


def _ways(value: str) -> frozenset[str]:
    """The text, the parts of an address, and other spellings, since errors of clients quote those."""
    parts = [value, *value.splitlines()]
    if "://" in value:
        try:
            split = urlsplit(value)
            parts += [split.password or "", split.netloc.rpartition("@")[0], split.query]
        except ValueError:
            pass
    spelled = (way for part in parts for way in _spellings(part))
    return frozenset(way for way in spelled if len(way) >= SHORTEST_MASKED)


def _without_cut(text: str, secret: str) -> str:
    """The text without the beginning of the secret at its end, and without its end at the beginning."""
    first, last = secret[:SHORTEST_CUT], secret[-SHORTEST_CUT:]
    if len(secret) <= SHORTEST_CUT:
        return text
    at = text.find(first, max(0, len(text) - len(secret)))
    while at >= 0:
        if secret.startswith(text[at:]):
            text = text[:at] + MASK
            break
        at = text.find(first, at + 1)
    at = text.rfind(last, 0, len(secret))
    while at >= 0:
        if secret.endswith(text[: at + SHORTEST_CUT]):
            return MASK + text[at + SHORTEST_CUT :]
        at = text.rfind(last, 0, at + SHORTEST_CUT - 1)
    return text


def _spellings(text: str) -> Iterable[str]:
    """How the errors and answers of services quote a text."""
    for way in (text, unquote(text)):
        data = way.encode()
        yield way
        for encoded in (quote(way, safe=""), quote(way), quote_plus(way)):
            yield from (encoded, ENCODED.sub(lambda found: found[0].lower(), encoded))
        for escaped in (json.dumps(way)[1:-1], json.dumps(way, ensure_ascii=False)[1:-1]):
            for each in (escaped, ENCODED.sub(lambda found: found[0].upper().replace("U", "u"), escaped)):
                yield from (each, each.replace("/", "\\/"))
        yield from (html.escape(way), html.escape(way, quote=False), repr(way)[1:-1], repr(data)[2:-1])
        if len(data) > SHORTEST_CUT:
            yield from _in_base64(data)


def _in_base64(data: bytes) -> Iterable[str]:
    """The data inside a longer text in base64, such as `user:password`: the characters that depend only on
    the data, for each place where it may begin."""
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(b"\0" * before + data)[mixed : (before + len(data)) * 8 // 6].decode()
        yield from (whole, whole.translate(URL_SAFE))
