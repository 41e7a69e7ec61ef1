"""Whether this node can fire: the notes of its scheduler, and the judgement of the beat.

A node that renews its lease but cannot fire would block its shards: it has no descriptor for a connection, or
its connection for firing leads nowhere any more. So the scheduler notes here since when it waits for an
answer, since when its rounds fail, and when it last fired or, with nothing due, proved that it could. Each
beat judges these notes.

A slow database is no reason to give the shards away: the beat checks whether PostgreSQL works on the
statement of the scheduler. Neither is a database that is away: only what happens while the lease is renewed
counts. And if no other node has proved since then that it can fire, the shards stay where they are.
"""

from __future__ import annotations

from sexton import clock

# Parts of the lease. How long an answer may take before the beat checks on it, and how old the last proof may
# be before the next one. After the same time again, a node that cannot fire says so.
PATIENCE = 1 / 4
# Beats that are further apart say nothing about the time between them.
GAP = 3 / 4


class Firing:
    """Times are those of the monotonic clock."""

    def __init__(self, lease_seconds: float, *, blind: bool = False) -> None:
        """`blind`: behind a pooler a node cannot see what PostgreSQL works on."""
        self._lease = lease_seconds
        #: How long an answer may take.
        self.patience = lease_seconds * (1 if blind else PATIENCE)
        #: How old the last proof may be.
        self.proof_seconds = lease_seconds * PATIENCE
        self.able = True
        #: When something was last fired, or could have been.
        self.proven_at = float("-inf")
        self._waiting_since: float | None = None
        self._failing_since: float | None = None
        self._stuck_since: float | None = None  # the first of the beats that found it so
        self._well_since: float | None = None
        self._beat_at = float("-inf")

    # For the scheduler.

    def began(self) -> None:
        """A round begins, or continues after an answer."""
        self._waiting_since = clock.monotonic()

    def rests(self) -> None:
        """The round does not wait for the database now."""
        self._waiting_since = None

    def proven(self) -> None:
        """A firing statement was carried out."""
        self.proven_at = self._waiting_since = clock.monotonic()

    def succeeded(self) -> None:
        self._waiting_since = self._failing_since = None

    def failed(self) -> None:
        began = clock.monotonic() if self._waiting_since is None else self._waiting_since
        self._failing_since = began if self._failing_since is None else self._failing_since
        self._waiting_since = None

    # For the beat.

    @property
    def since(self) -> float | None:
        """Since when the rounds fail, or this round waits for an answer."""
        return self._waiting_since if self._failing_since is None else self._failing_since

    @property
    def waits(self) -> bool:
        """Whether an answer is overdue."""
        return self._waiting_since is not None and self._is_long(self._waiting_since)

    @property
    def stuck(self) -> bool:
        return self.since is not None and self._is_long(self.since)

    def judge(self, *, works: bool, alone: bool) -> None:
        """Judge at a beat that has renewed the lease. `works`: PostgreSQL works on the statement of the
        scheduler. `alone`: no other node can fire. If another node can, this node counts as able again only
        after a whole lease without failures."""
        now, last, self._beat_at = clock.monotonic(), self._beat_at, clock.monotonic()
        if now - last > self._lease * GAP:
            self._stuck_since = self._well_since = None
        if works:
            return
        if self.stuck:
            self._well_since = None
            self._stuck_since = now if self._stuck_since is None else self._stuck_since
            if self._is_long(self._stuck_since):
                self.able = False
            return
        self._stuck_since = None
        if self._failing_since is not None:
            self._well_since = None
            return
        self._well_since = now if self._well_since is None else self._well_since
        if alone or now - self._well_since >= self._lease:
            self.able = True

    def _is_long(self, since: float) -> bool:
        return clock.monotonic() - since >= self.patience
