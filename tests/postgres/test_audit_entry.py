"""What the audit keeps of a change is small, and holds no secret."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from sexton.postgres.audit_entry import (
    CUT_TO,
    LARGEST_STATE,
    LARGEST_VALUE,
    MASK,
    difference,
    masked,
    multirange,
    state_text,
)


def kept(state: dict[str, Any]) -> Any:
    text = state_text(state)
    assert text is not None
    return msgspec.json.decode(text)


def test_only_what_differs_is_kept() -> None:
    before = {"name": "a", "retries": 3, "gone": 1, "same": [1]}
    after = {"name": "b", "retries": 3, "new": 2, "same": [1]}
    assert difference(before, after) == ({"name": "a", "gone": 1}, {"name": "b", "new": 2})
    assert difference(before, before) == ({}, {})


def test_a_long_value_is_cut_with_its_size_and_hash() -> None:
    payload = {"text": "x" * LARGEST_VALUE}
    text = msgspec.json.encode(payload, order="sorted")
    assert kept({"payload": payload, "name": "short"}) == {
        "name": "short",
        "payload": {
            "cut": text[:CUT_TO].decode() + "…",
            "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest(),
        },
    }
    other = kept({"payload": {"text": "x" * LARGEST_VALUE + "y"}})
    assert other["payload"]["sha256"] != kept({"payload": payload})["payload"]["sha256"]


@given(some.dictionaries(some.text(max_size=5), some.integers(0, 3000), max_size=40))
def test_a_state_is_never_larger_than_it_may_be(sizes: dict[str, int]) -> None:
    state = {name: "ü" * size for name, size in sizes.items()}
    text = state_text(state)
    assert (text is None) == (not state)
    # Names are kept as they are, and each cut value says what it was.
    assert len((text or "").encode()) <= LARGEST_STATE + 400 * len(state)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "hunter2"),
        ("Authorization", "Bearer hunter2"),
        ("X-Api-Key", "hunter2"),
        ("api_key", "hunter2"),
        ("accessToken", "hunter2"),
        ("client_secret", "hunter2"),
        ("proxy-auth", "hunter2"),
        ("Cookie", "session=hunter2"),
        ("pin_token", 4711),
    ],
)
def test_what_is_called_a_secret_is_masked(name: str, value: Any) -> None:
    assert masked({"headers": {name: value}, "list": [{name: [value]}]}) == {
        "headers": {name: MASK},
        "list": [{name: [MASK]}],
    }
    assert "hunter2" not in (state_text({name: value}) or "")


def test_passwords_in_addresses_are_masked() -> None:
    url = "amqp://user:hunter2@host/x?y=1"
    assert masked({"url": url}) == {"url": f"amqp://{MASK}@host/x?y=1"}
    assert masked("https://example.com/a:b@c") == "https://example.com/a:b@c"


def test_the_names_of_secrets_are_shown() -> None:
    target = {"message": {"url": {"secret": "broker"}, "headers": {"Authorization": "Bearer ${secret:crm}"}}}
    assert kept({"target": target}) == {"target": target}
    # A payload that looks alike is no target.
    assert kept({"payload": {"url": {"secret": "hunter2"}}}) == {"payload": {"url": {"secret": MASK}}}


def test_what_is_no_secret_stays() -> None:
    state = {"author": "ada", "monkey": "b", "flag": True, "token_needed": False, "none": None, "n": 1.5}
    assert masked(state) == state


@pytest.mark.parametrize(
    ("numbers", "text"), [([], None), ([7], "{[7,8)}"), ([3, 1, 2, 2, 9], "{[1,4),[9,10)}")]
)
def test_numbers_become_ranges(numbers: list[int], text: str | None) -> None:
    assert multirange(numbers) == text
