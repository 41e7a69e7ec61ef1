"""A message as an e-mail: headers and parts, as bytes, with CRLF.

A template or a payload cannot end a header: line ends and control characters become spaces. The standard
library takes ten times as long for the same bytes.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parseaddr
from functools import lru_cache
from hashlib import sha256

from sexton import clock
from sexton.errors import InvalidField
from sexton.notifications.channels.base import Outgoing

# RFC 5321 allows 998 bytes in a line; 8-bit text is sent unencoded only if its lines are shorter.
LONGEST_LINE = 990
LONGEST_HEADER = 900
# Bytes of an encoded word, before base64.
LONGEST_WORD = 42
ATOM = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,100}")
ADDRESS = re.compile(
    r"[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]{1,64}@(?=.{1,253}$)[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+"
)
PLAIN = re.compile(r"[ -~]*")
HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}")
# Headers that a message cannot set.
OWN = frozenset(
    {"from", "to", "cc", "bcc", "sender", "subject", "date", "message-id", "mime-version", "content-type",
     "content-transfer-encoding", "reply-to", "return-path", "received", "dkim-signature"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MailSender:
    """The sender of mail: `address` is that of the envelope, `name` is for people."""

    address: str
    name: str = ""
    reply_to: str | None = None

    @classmethod
    def read(cls, text: str, *, field: str, reply_to: str | None = None) -> MailSender:
        """`ann@example.com`, or `Ann <ann@example.com>`."""
        name, address = parseaddr(text)
        if not is_address(address) or one_line(text) != text:
            raise _bad_address(text, field)
        if reply_to is not None and not is_address(parseaddr(reply_to)[1]):
            raise _bad_address(reply_to, "reply_to")
        return cls(address, name, reply_to)

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


def is_address(text: str) -> bool:
    """Whether a text can be an address in an envelope: no line ends, no second address, no quoting."""
    return ADDRESS.fullmatch(text) is not None


def ascii_address(address: str) -> str | None:
    """The address with its domain in ASCII; None if only servers with SMTPUTF8 accept it."""
    local, _, domain = address.rpartition("@")
    try:
        whole = f"{local}@{domain if domain.isascii() else domain.encode('idna').decode()}"
    except UnicodeError:
        return None
    return whole if whole.isascii() else None


def message_id(key: str, domain: str) -> str:
    """The Message-ID, which is the same for the same key: mail programs and servers recognise a message by
    it."""
    left = (
        key if ATOM.fullmatch(key) and not key.startswith(".") and ".." not in key.rstrip(".") + "." else ""
    )
    left = left.rstrip(".") or sha256(key.encode()).hexdigest()
    ascii_domain = domain if domain.isascii() else domain.encode("idna").decode()
    return f"<{left}@{ascii_domain}>"


def mail_bytes(message: Outgoing, sender: MailSender, *, eight_bit: bool = False) -> bytes:
    """The complete mail. `eight_bit`: the server accepts 8-bit text. Raises `ValueError` for an address that
    cannot be in a header."""
    if not is_address(message.address):
        raise ValueError(f"{message.address!r} is not an e-mail address")
    parts = message.parts
    lines = [
        f"From: {_mailbox(sender.name, sender.address)}",
        f"To: {message.address}",
        f"Subject: {_text(parts.get('subject', ''))}",
        f"Date: {_date(int(clock.now().timestamp()))}",
        f"Message-ID: {message_id(message.key, sender.domain)}",
        "MIME-Version: 1.0",
        *_more_headers(message, sender),
    ]
    text, html = parts.get("text"), parts.get("html")
    if html is None or text is None:
        kind = "plain" if html is None else "html"
        body = _part(text if html is None else html, kind, eight_bit)
    else:
        # No part contains this boundary, because it is a hash of them.
        edge = f"=_{sha256((message.key + text + html).encode()).hexdigest()[:32]}"
        lines.append(f'Content-Type: multipart/alternative; boundary="{edge}"')
        body = b"\r\n--%b\r\n%b\r\n--%b\r\n%b\r\n--%b--\r\n" % (
            edge.encode(),
            _part(text, "plain", eight_bit),
            edge.encode(),
            _part(html, "html", eight_bit),
            edge.encode(),
        )
    return "\r\n".join(lines).encode() + b"\r\n" + body


def _more_headers(message: Outgoing, sender: MailSender) -> Iterator[str]:
    if sender.reply_to is not None:
        yield f"Reply-To: {_mailbox(*parseaddr(sender.reply_to))}"
    for name, value in message.headers.items():
        if HEADER_NAME.fullmatch(name) and name.lower() not in OWN:
            # A URL in angle brackets is not encoded.
            yield f"{name}: {one_line(value) if PLAIN.fullmatch(one_line(value)) else _text(value)}"


def _part(text: str | None, kind: str, eight_bit: bool) -> bytes:
    lines = re.split(r"\r\n|\r|\n", text or "")
    content = "\r\n".join(lines).encode("utf-8", "replace")
    short = all(len(line) <= LONGEST_LINE for line in content.split(b"\r\n"))
    charset = "us-ascii" if content.isascii() else "utf-8"
    if short and (content.isascii() or eight_bit) and b"\0" not in content:
        how = "7bit" if content.isascii() else "8bit"
    else:
        how = "base64"
        whole = b64encode(content)
        content = b"\r\n".join(whole[start : start + 76] for start in range(0, len(whole), 76))
    head = f"Content-Type: text/{kind}; charset={charset}\r\nContent-Transfer-Encoding: {how}\r\n\r\n"
    return head.encode() + content


def _mailbox(name: str, address: str) -> str:
    name = one_line(name)
    if not name:
        return address
    if not PLAIN.fullmatch(name):
        return f"{_text(name)} <{address}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'


@lru_cache(maxsize=1000)
def _text(text: str) -> str:
    """A text for a header: unchanged if it is plain, else encoded by RFC 2047 and folded."""
    text = one_line(text)[:LONGEST_HEADER]
    if PLAIN.fullmatch(text) and "=?" not in text:
        return text if len(text) < 60 else _folded(text)
    return "\r\n ".join(_encoded_words(text))


def _encoded_words(text: str) -> Iterator[str]:
    """Encoded words with whole characters, each short enough for its line."""
    start = 0
    while start < len(text):
        end = start + LONGEST_WORD
        while len(part := text[start:end].encode("utf-8", "replace")) > LONGEST_WORD:
            end -= 1
        yield f"=?utf-8?b?{b64encode(part).decode()}?="
        start = end


@lru_cache(maxsize=16)
def _date(second: int) -> str:
    return format_datetime(datetime.fromtimestamp(second, UTC))


def _folded(text: str) -> str:
    """Break a long line at spaces."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) > 70:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\r\n ".join(filter(None, (*lines, line)))


def one_line(text: str) -> str:
    """A text that cannot end a header: every character that is not printable becomes a space."""
    return (
        text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text).strip()
    )


def dotted(content: bytes) -> bytes:
    """The content after DATA: leading dots are doubled, and the last line is a dot."""
    if content.startswith(b"."):
        content = b"." + content
    content = content.replace(b"\r\n.", b"\r\n..")
    return content + (b".\r\n" if content.endswith(b"\r\n") else b"\r\n.\r\n")


def _bad_address(text: str, field: str) -> InvalidField:
    return InvalidField(
        "bad_address",
        f"{text!r} is not an e-mail address",
        field=field,
        hint="write ann@example.com, or Ann <ann@example.com>",
    )
