"""One change, as the audit keeps it: the object, its state before and after, and details.

An entry is small, whatever has changed: of two states it keeps only the fields that differ. Of a long value
it keeps the beginning, the size and the hash. It masks fields that are called password, token or the like.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

Face = Literal["api", "cli", "console", "python", "sexton"]
State = Mapping[str, Any]

MASK = "•••"
LARGEST_VALUE = 2000
LARGEST_STATE = 16_000
CUT_TO = 100
LONGEST_REASON = 1000
# Names of fields and headers whose values are confidential.
SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|token|authorization|(^|_)auth(_|$)|api_?key|credential|cookie|private_?key"
)
PLACEHOLDER = re.compile(r"\$\{secret:[^}]*\}")
# Fields in which {"secret": …} is the name of a secret.
TARGETS = ("target", "dead_letter_target")
# The user and password of an address.
USERINFO = re.compile(r"(?<=://)[^/?#\s@]*:[^/?#\s@]*(?=@)")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a change: the face, and the caller's address; for Sexton itself, the node."""

    face: Face
    address: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What a command has changed. `job_id` is the changed job, or the job of the changed run; `jobs` are the
    jobs of a change of many, as PostgreSQL writes a multirange."""

    action: str
    actor: str
    namespace: str
    object_id: str | None
    object_name: str | None
    job_id: int | None
    jobs: str | None
    reason: str | None
    before: str | None
    after: str | None
    detail: str | None


def difference(before: State, after: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of two states that are not alike."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return (
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names if name in after},
    )


def state_text(state: State | None) -> str | None:
    """A state as the audit keeps it: masked, and with long values cut; None for an empty state."""
    if not state:
        return None
    shown = {name: masked(value, name, names=name in TARGETS) for name, value in state.items()}
    kept = {name: _cut(value, LARGEST_VALUE) for name, value in shown.items()}
    sizes = {name: len(msgspec.json.encode(value)) for name, value in kept.items()}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if sum(sizes.values()) <= LARGEST_STATE:
            break
        kept[name] = _cut(shown[name], CUT_TO)
        sizes[name] = len(msgspec.json.encode(kept[name]))
    return msgspec.json.encode(kept).decode()


def masked(value: Any, name: str = "", *, names: bool = False) -> Any:
    """The value of this name without passwords, at any depth. `names`: it may hold names of secrets, which
    are not confidential."""
    match value:
        case {"secret": str()} if names and len(value) == 1:
            return value
        case Mapping():
            return {str(key): masked(inner, str(key), names=names) for key, inner in value.items()}
        case list() | tuple():
            return [masked(inner, name, names=names) for inner in value]
        case bool() | None:
            return value
        case str() if PLACEHOLDER.search(value):
            return value
        case str() | int() | float() if SECRET.search(name.lower().replace("-", "_")):
            return MASK
        case str():
            return USERINFO.sub(MASK, value)
        case _:
            return value


def multirange(numbers: Iterable[int]) -> str | None:
    """`{[1,4),[7,8)}` for 1, 2, 3 and 7; None if there are none."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number:
            ranges[-1][1] = number + 1
        else:
            ranges.append([number, number + 1])
    return "{" + ",".join(f"[{first},{end})" for first, end in ranges) + "}" if ranges else None


def _cut(value: Any, most: int) -> Any:
    text = msgspec.json.encode(value, order="sorted")
    if len(text) <= most:
        return value
    beginning = text[:CUT_TO].decode(errors="ignore")
    return {"cut": f"{beginning}…", "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
