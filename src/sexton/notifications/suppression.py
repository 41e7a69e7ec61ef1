"""Addresses that get nothing: hard bounces, complaints, and those who unsubscribed by their address."""

from __future__ import annotations

from typing import Any


def normal_address(channel: str, address: Any) -> str:
    """An address as suppressions have it: two ways to write the same mailbox are one."""
    text = str(address).strip()
    return text.lower() if channel == "email" else "".join(text.split()) if channel == "sms" else text
