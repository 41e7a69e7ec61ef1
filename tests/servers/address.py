"""The addresses of the servers that `make test-servers` has started, for the tests that need them."""

from __future__ import annotations

import os

import pytest


def address(variable: str) -> str:
    """The address in a variable, such as SEXTON_TEST_REDIS_URL; the test is skipped where there is none."""
    found = os.environ.get(variable)
    if not found:
        pytest.skip(os.environ.get(f"{variable}_MISSING") or f"{variable} is not set: run make test-servers")
    return found
