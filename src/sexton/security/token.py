"""Tokens of sessions and sign-in links: 256 random bits, and a seal under the cluster's own key.

The seal shows a process that a token was made up, without a statement. The database has only a keyed hash of
a token. `kind` makes a token of one kind useless as another.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from hashlib import sha256

RANDOM, SEAL = 32, 16
LENGTH = (RANDOM + SEAL) * 4 // 3  # in base64, without padding


def new_token(kind: str, pepper: bytes) -> str:
    return seal(kind, secrets.token_bytes(RANDOM), pepper)


def has_form(text: str) -> bool:
    """Whether a text could be a token; only the pepper tells more."""
    return len(text) == LENGTH


def is_token(text: str, kind: str, pepper: bytes) -> bool:
    """Whether this cluster has made the token; it may have ended since."""
    return has_form(text) and unseal(kind, text, pepper) is not None


def seal(kind: str, content: bytes, pepper: bytes) -> str:
    """Text that a browser may keep but not change."""
    sealed = content + hmac.digest(pepper, f"{kind} seal ".encode() + content, sha256)[:SEAL]
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def unseal(kind: str, text: str, pepper: bytes) -> bytes | None:
    """What was sealed; None if this cluster has not sealed it."""
    try:
        sealed = base64.b64decode(
            text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True
        )
    except (binascii.Error, UnicodeEncodeError):
        return None
    content, given = sealed[:-SEAL], sealed[-SEAL:]
    right = hmac.digest(pepper, f"{kind} seal ".encode() + content, sha256)[:SEAL]
    return content if hmac.compare_digest(given, right) else None


def token_hash(text: str, kind: str, pepper: bytes) -> bytes:
    """The hash of a token, for the database."""
    return hmac.digest(pepper, f"{kind} hash {text}".encode(), sha256)


def derive(text: str, purpose: str, pepper: bytes) -> str:
    """Another secret that belongs to a token, such as the one against forged requests."""
    return base64.urlsafe_b64encode(hmac.digest(pepper, f"{purpose} of {text}".encode(), sha256)).decode()[
        :43
    ]
