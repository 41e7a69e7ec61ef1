"""The cases of corpus/*.jsonl, as both the engine's and the oracle's tests read them."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

Case = dict[str, Any]

# The number of cases of each file: a truncated copy must not pass.
SIZES = {"cron": 874, "recurrence": 419, "clock-changes": 2335, "refused": 202}


def load(name: str) -> list[Case]:
    text = (Path(__file__).parent / "corpus" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def groups(name: str) -> dict[str, list[Case]]:
    """The cases of a file by where they come from (clock changes: by zone); small groups go together."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in load(name):
        found[case["timezone"] if name == "clock-changes" else case["source"].split()[0]].append(case)
    few = [key for key, cases in found.items() if len(cases) < 5]
    for key in few:
        found["others"].extend(found.pop(key))
    return dict(sorted(found.items()))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def show(instants: list[datetime]) -> str:
    return "[" + ", ".join(f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in instants) + "]"
