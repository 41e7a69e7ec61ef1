"""What is masked, and for how long."""

from __future__ import annotations

import pytest

from sexton import clock
from sexton.security.mask import MASK, Mask


def test_a_token_is_masked_for_as_long_as_it_is_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that gets another token every hour does not search for all of them for ever."""
    now = 100.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    mask = Mask()
    mask.remember("the-password")
    mask.remember("token-of-one-o'clock", 7200)
    assert mask.text("token-of-one-o'clock for the-password") == f"{MASK} for {MASK}"
    now += 7200
    mask.remember("token-of-three-o'clock", 7200)
    said = "token-of-one-o'clock, token-of-three-o'clock, the-password"
    assert mask.text(said) == f"token-of-one-o'clock, {MASK}, {MASK}"


def test_what_is_masked_for_good_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    mask = Mask()
    mask.remember("the-password")
    mask.remember("the-password", 10)
    now += 20
    mask.remember("another-password")
    assert mask.text("the-password, another-password") == f"{MASK}, {MASK}"
