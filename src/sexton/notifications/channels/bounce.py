"""The meaning of a mail server's refusal, by its enhanced status code (RFC 3463, RFC 5248).

A code of three numbers, such as 5.1.1, is more precise than the three digits before it: it says whether the
mailbox does not exist, is full, or refuses this message.
"""

from __future__ import annotations

import re
from enum import StrEnum

from sexton.notifications.channels.base import Failed, Rejected, SendResult

ENHANCED = re.compile(r"^([245]\.\d{1,3}\.\d{1,3})(?=\s|$)")
#: Statuses for a mailbox that does not exist, or no longer accepts mail.
ABSENT = frozenset({"1.0", "1.1", "1.2", "1.3", "1.6", "1.10", "2.0", "2.1"})
#: Codes about our connection: the next message would be refused too.
OURS = frozenset({421, 432, 454, 530, 534, 535, 538})
SHOWN = 300


class BounceClass(StrEnum):
    """Why a message came back."""

    HARD = "hard"  # the address does not exist
    SOFT = "soft"  # it may work later
    FULL = "full"  # the mailbox is full
    POLICY = "policy"  # the message, or its sender, is not wanted
    CONTENT = "content"  # the message is too large, or cannot be read
    ROUTING = "routing"  # the server of the address cannot be reached
    OTHER = "other"


def enhanced_code(text: str) -> str | None:
    """The enhanced code at the beginning of a reply, if it has one."""
    found = ENHANCED.match(text.strip())
    return found[1] if found else None


def bounce_class(code: str) -> BounceClass:
    """The class of a code such as 5.1.1 or 550."""
    if not re.fullmatch(r"[45]\.\d{1,3}\.\d{1,3}", code):
        return BounceClass.SOFT if code.startswith("4") else BounceClass.OTHER
    permanent, rest = code.startswith("5"), code[2:]
    if rest == "2.2":
        return BounceClass.FULL
    if not permanent:
        return BounceClass.SOFT
    if rest in ABSENT:
        return BounceClass.HARD
    subject = rest.partition(".")[0]
    if rest == "3.4" or subject == "6":
        return BounceClass.CONTENT
    return {"4": BounceClass.ROUTING, "7": BounceClass.POLICY}.get(subject, BounceClass.OTHER)


def refusal(code: int, text: str, command: str) -> SendResult:
    """The result for a message whose MAIL, RCPT, DATA or content got this reply."""
    enhanced = enhanced_code(text)
    shown = enhanced or str(code)
    words = " ".join(text.split())[:SHOWN]
    reason = f"{command}: {code} {words}".strip()
    if code in OURS or (command == "MAIL" and not 500 <= code < 600) or (enhanced or "").startswith("4.3."):
        return Failed(reason, code=shown)
    if 400 <= code < 500:
        return Failed(reason, code=shown, ours=True)
    if 500 <= code < 600:
        if command == "MAIL" and bounce_class(shown) in (
            BounceClass.POLICY,
            BounceClass.OTHER,
            BounceClass.HARD,
        ):
            # The sender is refused: the next message would be refused too, but another provider may accept
            # it.
            return Failed(reason, code=shown)
        return Rejected(
            reason, code=shown, gone=command == "RCPT" and bounce_class(shown) == BounceClass.HARD
        )
    return Failed(f"{reason}, which is not a valid reply", code=shown)
