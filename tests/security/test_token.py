"""Tokens of sessions and links."""

from __future__ import annotations

from sexton.security.token import LENGTH, derive, is_token, new_token, token_hash

PEPPER, OTHER = b"p" * 32, b"o" * 32


def test_a_token_is_recognised_by_its_seal() -> None:
    token = new_token("link", PEPPER)
    assert len(token) == LENGTH == 64
    assert is_token(token, "link", PEPPER)
    assert not is_token(token, "session", PEPPER), "a link is no session"
    assert not is_token(token, "link", OTHER)
    swapped = ("A" if token[0] != "A" else "B") + token[1:]
    for wrong in (swapped, token[:-1], token + "A", "", "é" * 64, "=" * 64, "\0" * 64):
        assert not is_token(wrong, "link", PEPPER)


def test_what_is_kept_tells_nothing_of_the_token() -> None:
    token = new_token("session", PEPPER)
    assert token.encode() not in token_hash(token, "session", PEPPER)
    assert token_hash(token, "session", PEPPER) != token_hash(token, "link", PEPPER)
    assert derive(token, "csrf", PEPPER) != derive(token, "state", PEPPER)
    assert len(derive(token, "csrf", PEPPER)) == 43
