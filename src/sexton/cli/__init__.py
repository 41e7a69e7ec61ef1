"""The command `sexton`."""

from __future__ import annotations


def main() -> None:
    raise SystemExit("sexton: not yet")
