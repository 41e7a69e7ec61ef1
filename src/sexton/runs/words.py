"""Durations and errors, shortened for people."""

from __future__ import annotations

from datetime import timedelta


def span(length: timedelta) -> str:
    """`3 h 20 min`: the two largest units; below a minute, seconds with one decimal."""
    seconds = length.total_seconds()
    if seconds < 59.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    parts = [
        f"{number} {unit}"
        for number, unit in (
            (whole // 86_400, "d"),
            (whole // 3600 % 24, "h"),
            (whole // 60 % 60, "min"),
            (whole % 60, "s"),
        )
    ]
    while parts[0].startswith("0 "):
        parts.pop(0)
    return " ".join(each for each in parts[:2] if not each.startswith("0 "))


def first_line(text: str | None, most: int = 120) -> str:
    """The first line of an error, cut to fit; the traceback follows it."""
    line = ((text or "").strip().splitlines() or ["no error recorded"])[0]
    return line if len(line) <= most else line[: most - 1] + "…"
