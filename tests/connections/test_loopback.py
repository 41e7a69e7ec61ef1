"""Which hosts are this machine itself: one answer for every part that asks."""

from __future__ import annotations

import pytest

from sexton.connections.loopback import is_loopback, is_protected


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1",
        "[::ffff:127.0.0.1]", "localhost", "LOCALHOST", "localhost.", "sub.localhost", "a.b.localhost.",
    ],
)  # fmt: skip
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "0.0.0.0", "::", "[::]", "10.0.0.1", "192.168.1.1", "::ffff:10.0.0.1", "128.0.0.1", "fe80::1",
        "sexton.example.org", "localhost.example.org", "notlocalhost", "127.0.0.1.example.org", "[", ".",
    ],
)  # fmt: skip
def test_anything_else(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("scheme", "host", "protected"),
    [
        ("https", "sexton.example.org", True), ("http", "127.0.0.1", True), ("http", "localhost", True),
        ("http", "sexton.example.org", False), ("http", "", False), ("", "localhost", False),
        ("ftp", "127.0.0.1", False),
    ],
)  # fmt: skip
def test_where_passwords_may_go(scheme: str, host: str, protected: bool) -> None:
    assert is_protected(scheme, host) is protected
