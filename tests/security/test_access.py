"""Who may use the API: an address that others can reach needs keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.security.access import read_keys, require_keys

KEY = "a-long-enough-key"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost", "sub.localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert require_keys(Settings(host=host)) == []
    assert require_keys(Settings(host=host, api_keys=KEY)) == [KEY]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org"])
def test_any_other_address_needs_keys(host: str) -> None:
    with pytest.raises(InvalidField) as refused:
        require_keys(Settings(host=host))
    assert (refused.value.code, refused.value.field) == ("keys_required", "api_keys")
    assert "SEXTON_API_KEYS" in str(refused.value.hint)
    assert require_keys(Settings(host=host, api_keys=KEY)) == [KEY]


def test_keys_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\n{KEY}\n\n")
    assert read_keys(Settings(api_keys=f"@{file}")) == [KEY]
    assert read_keys(Settings(api_keys=f"{KEY}, {KEY}-2")) == [KEY, f"{KEY}-2"]


@pytest.mark.parametrize("wrong", ["short", f"{KEY},short", "@/nowhere/keys", "@/", ","])
def test_keys_that_cannot_be_used_are_refused(wrong: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_keys(Settings(api_keys=wrong))
    assert refused.value.field == "api_keys"
