"""The chain that makes tampering with the audit evident.

Each row of `audit` holds a number, the hash of the row before, and its own hash over everything in it. So a
row that is changed, removed, inserted or moved breaks the chain at that row. A copy of the last hash proves
all rows up to it. A program that can write to the database can also compute all hashes again: only a copy of
a hash outside the database reveals that.

Writers must not wait for each other, so they only add rows to `audit_pending`. One process at a time, the
owner of the lock on the row of `audit_head`, moves committed rows into the chain, in the order in which it
finds them: a transaction that commits late comes later.

Retention removes the oldest rows, and keeps the hash of the last one that it removed: the chain begins after
it.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from sexton.errors import InvalidField
from sexton.postgres.database import by_column
from sexton.postgres.transaction import SHARED, Context, command, query
from sexton.security.audit import AuditView, view

BATCH = 1000
READ_TOGETHER = 2000
MOST_FAULTS = 20
# What a hash is made of begins with this: another way of making it would have another name.
SCHEME = "sexton-audit-1"
FIELDS = tuple(name for name in AuditView.__struct_fields__ if name != "hash")
SEAL = ("at", "id", "sequence", "previous", "hash")


class Link(NamedTuple):
    """A place in the chain. The first row follows 0, which has no hash."""

    sequence: int = 0
    hash: str = ""

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Link:
        """From `number:hash`, as `sexton audit verify` prints it."""
        number, _, digest = text.strip().partition(":")
        if not number.isdecimal() or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise InvalidField(
                "bad_head",
                f"{text!r} is not the head of a chain",
                field="head",
                hint="write NUMBER:HASH, as sexton audit verify has printed it",
            )
        return cls(int(number), digest)


def hash_of(entry: AuditView) -> str:
    """The hash of every other field, in an encoding that has one form for each value."""
    values = [SCHEME, *(getattr(entry, name) for name in FIELDS)]
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def sealed(entry: AuditView, after: Link) -> AuditView:
    """The entry as the next row of the chain."""
    placed = msgspec.structs.replace(entry, sequence=after.sequence + 1, previous=after.hash)
    return msgspec.structs.replace(placed, hash=hash_of(placed))


@command
async def seal(context: Context, limit: int = BATCH) -> int:
    """Move committed entries into the chain; returns how many. 0 if another process does it now."""
    head = await context.fetchrow("audit/lock_head")
    if head is None:
        return 0
    rows = await context.fetch("audit/lock_pending", limit=limit)
    last, made = Link(head["sequence"], head["hash"]), []
    for row in rows:
        entry = sealed(view(row), last)
        last = Link(last.sequence + 1, entry.hash or "")
        made.append((row["at"], row["id"], last.sequence, entry.previous, last.hash))
    if made:
        await context.execute("audit/seal", **by_column(SEAL, made))
    return len(made)


@command
async def remove_old(context: Context, keep_days: int, limit: int) -> int:
    """Remove the oldest rows that were kept long enough, up to `limit`; returns how many."""
    row = await context.fetchrow("audit/remove", now=context.now, keep_days=keep_days, limit=limit)
    assert row is not None
    if row["count"]:
        context.changed("audit.removed", namespace=SHARED, detail={"keep_days": keep_days, **row})
    return int(row["count"])


# Verifying.


class Fault(msgspec.Struct, frozen=True):
    """Where the chain is broken, and how."""

    sequence: int
    problem: str


@dataclass(slots=True)
class Verified:
    """What was found. `first` is the place before the first row; `head` the last row that was read."""

    first: Link
    head: Link
    rows: int = 0
    fault_count: int = 0
    faults: list[Fault] = field(default_factory=list)
    unsealed: int = 0
    unsealed_since: datetime | None = None

    @property
    def sound(self) -> bool:
        return not self.fault_count and not self.unsealed

    def add_fault(self, sequence: int, problem: str) -> None:
        self.fault_count += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(sequence, problem))


class Verifier:
    """Follows the chain, row by row."""

    def __init__(self, first: Link | None, kept: Link | None = None) -> None:
        """`first` is the place before the first row; None: take it from the first row. `kept` is a place that
        was noted before."""
        self.found = Verified(Link(), Link())
        self._last = first
        self._kept = kept
        if first is not None:
            self._begin(first)

    def add(self, entry: AuditView) -> None:
        if entry.sequence is None or entry.hash is None or entry.previous is None:
            self.found.add_fault(0, f"{entry.entry_id} is not sealed")
            return
        if self._last is None:
            self._begin(Link(entry.sequence - 1, entry.previous))
        assert self._last is not None
        last, found = self._last, self.found
        problem = None
        if entry.sequence > last.sequence + 1:
            self._missing(last.sequence + 1, entry.sequence - 1)
        elif entry.sequence <= last.sequence:
            problem = f"it comes after row {last.sequence}: rows were moved or inserted"
        elif entry.previous != last.hash:
            problem = f"it does not follow row {last.sequence}: one of the two was changed"
        if problem is not None:
            found.add_fault(entry.sequence, problem)
        if hash_of(entry) != entry.hash:
            found.add_fault(entry.sequence, f"{entry.action} of {entry.at} was changed after it was sealed")
        found.rows += 1
        self._last = found.head = Link(entry.sequence, entry.hash)
        self._compare(self._last)

    def restart(self, first: Link) -> None:
        """Go on behind this place: retention has removed what was before."""
        self._last = first

    def end(self, head: Link | None) -> Verified:
        """`head` is where the chain is said to end."""
        found, last = self.found, self._last or Link()
        if head is not None and head.sequence > last.sequence:
            self._missing(last.sequence + 1, head.sequence)
        elif head is not None and head != last:
            found.add_fault(last.sequence, f"the chain should end with {head}")
        if self._kept is not None and self._kept.sequence > last.sequence:
            found.add_fault(
                self._kept.sequence,
                f"the chain ends at row {last.sequence}, before the row of the given head",
            )
        return found

    def _begin(self, first: Link) -> None:
        self._last = self.found.first = self.found.head = first
        self._compare(first)

    def _missing(self, start: int, end: int) -> None:
        rows = f"row {start} is" if start == end else f"rows {start} to {end} are"
        self.found.add_fault(start, f"{rows} missing")

    def _compare(self, place: Link) -> None:
        if self._kept is not None and self._kept.sequence == place.sequence and self._kept != place:
            self.found.add_fault(
                place.sequence,
                f"its hash is {place.hash}, not that of the given head: the chain was rewritten",
            )


@query
async def verify(
    context: Context,
    kept: Link | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verified:
    """Compute the whole chain again, in parts. `kept` is a head that was noted before. `progress` gets the
    number of rows that are done, and of all. Rows that are added meanwhile are left out."""
    head = await read_head(context)
    end = Link(head["sequence"], head["hash"])
    verifier = Verifier(Link(head["removed_sequence"], head["removed_hash"]), kept)
    after = begin = head["removed_sequence"]
    while after < end.sequence:
        rows = await context.fetch("audit/read_chain", after=after, limit=READ_TOGETHER)
        rows = [row for row in rows if row["sequence"] <= end.sequence]
        if not rows or rows[0]["sequence"] > after + 1:
            now = await read_head(context)
            if now["removed_sequence"] > after:
                after = min(now["removed_sequence"], end.sequence)
                verifier.restart(Link(now["removed_sequence"], now["removed_hash"]))
                continue
        for row in rows:
            verifier.add(view(row))
        if not rows:
            break
        after = rows[-1]["sequence"]
        progress(after - begin, end.sequence - begin)
    found = verifier.end(end)
    found.unsealed, found.unsealed_since = head["late"], head["since"]
    return found


async def verify_lines(lines: AsyncIterable[bytes], kept: Link | None = None) -> Verified:
    """The same of an export of all entries, as JSON lines."""
    verifier = Verifier(None, kept)
    number = 0
    async for line in lines:
        number += 1
        try:
            verifier.add(msgspec.json.decode(line, type=AuditView))
        except msgspec.DecodeError as error:
            verifier.found.add_fault(0, f"line {number} is not a row of the audit: {error}")
    return verifier.end(None)


async def read_head(context: Context) -> Any:
    """Where the chain ends and begins, and which entries wait too long to be sealed."""
    row = await context.fetchrow("audit/read_head", now=context.now)
    if row is None:
        raise InvalidField(
            "no_chain",
            "the end of the chain is gone from audit_head",
            field="audit_head",
            hint="put its row back from a backup",
        )
    return row
