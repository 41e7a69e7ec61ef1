"""One process of Sexton: the one place that puts its parts together.

A node has some of the roles scheduler and worker. (Serving HTTP is a face on top of it: see `sexton.api`.)
Inside an existing asyncio program the same node runs with the same guarantees.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Collection, Mapping

from sexton import __version__
from sexton.config import Settings
from sexton.engine import crash
from sexton.engine.cluster.leadership import DatabaseClock, Leadership
from sexton.engine.cluster.presence import Presence
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.doorbells.ringer import Ringer
from sexton.engine.listener import Listener
from sexton.engine.loop import Loop, Vital
from sexton.engine.scheduler.scheduler import Scheduler
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.dead_letters import Courier
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.engine.upkeep.replanner import Replanner
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.engine.worker.worker import Worker
from sexton.jobs.state import resume_due
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import require_migrated
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context
from sexton.targets.handler import Handler

log = logging.getLogger("sexton")

# Its leader looks for runs that nobody has rung for, or answered.
FIRST_SHARD = 0


class Node:
    """Make it, `start` it, and `stop` it when the time has come."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        roles: Collection[str],
        handlers: Mapping[str, Handler] | None = None,
        app: str | None = None,
    ) -> None:
        crash.check()
        self.settings = settings
        self.database = database
        self.roles = tuple(roles)
        self.telemetry = Telemetry()
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.worker: Worker | None = None
        self.scheduler: Scheduler | None = None
        self.leadership: Leadership | None = None
        self._own_loops: list[Loop] = []
        # Not among the loops that must tick: without it, runs are only claimed later.
        self._ringer: Ringer | None = None
        if "scheduler" in roles:
            self._add_scheduler()
        elif "api" in roles:
            self._own_loops = [Presence(database, settings, name=self.name, version=__version__)]
        if "worker" in roles:
            self.worker = Worker(database, settings, handlers or {}, app=app, telemetry=self.telemetry)
            self._own_loops.append(Courier(database, settings, self.worker.kinds, self.telemetry))
        if self._brokers():
            self.telemetry.watch_queue(lambda: all(broker.up for broker in self._brokers()))

    @property
    def loops(self) -> tuple[Vital, ...]:
        """Everything that must tick for the node to be ready."""
        if self.worker is None:
            return tuple(self._own_loops)
        return (*self._own_loops, *self.worker.loops, self.worker.heartbeat)

    def warnings(self) -> list[str]:
        """What makes the node slower, but does not keep it from its work."""
        return sorted({broker.problem for broker in self._brokers() if broker.problem})

    async def start(self) -> None:
        """Returns when it is at work; waits for the database as long as that takes."""
        if self.database.pooled:
            log.warning(
                "a pooler such as PgBouncer is between this node and PostgreSQL: no notifications come"
                " through, so changes are looked for every %g s",
                self.settings.poll_seconds,
            )
        await patiently(lambda: require_migrated(self.database))
        await patiently(lambda: make_partitions(self.database))
        if self.leadership is not None:
            await patiently(self.leadership.open_elector)
        try:
            for loop in self._own_loops:
                loop.start()
            if self._ringer is not None:
                self._ringer.start()
            if self.worker is not None:
                await self.worker.start()
        except BaseException:
            for part in self.loops:
                await part.stop()
            raise

    async def stop(self) -> None:
        """Stop firing first, hand the shards over, then let runs finish."""
        for loop in self._own_loops:
            await loop.stop()
        if self._ringer is not None:
            await self._ringer.stop()
        if self.worker is not None:
            await self.worker.stop()

    def _add_scheduler(self) -> None:
        time = DatabaseClock()
        leadership = Leadership(
            self.database,
            self.settings,
            time,
            name=self.name,
            version=__version__,
            roles=[role for role in self.roles if role != "worker"],
        )
        scheduler = Scheduler(self.database, self.settings, leadership, time)
        ringer = self._make_ringer(leadership)
        if ringer is not None:
            scheduler.on_fired = ringer.fired

        def notified(channel: str, payload: str) -> None:
            match channel:
                case "sexton_shards":
                    leadership.wake()
                case "sexton_timers":
                    scheduler.timers_changed(payload)
                case _ if ringer is not None and payload:
                    # A firing, which is rung for anyway, does not say of which lane.
                    ringer.became_available()

        listener = Listener(
            self.database,
            ["sexton_timers", "sexton_shards", *(["sexton_runs"] if ringer else [])],
            notified,
        )
        scheduler.listening = lambda: listener.alive
        sweeper = Sweeper(
            self.database,
            self.settings,
            self.telemetry,
            steady=lambda: leadership.steady(self.settings.worker_lease_seconds),
            resume=lambda: resume_due(Context(self.database)),
        )
        housekeeper = Housekeeper(self.database, self.settings)
        replanner = Replanner(self.database, self.telemetry, node=self.name)
        self.leadership, self.scheduler = leadership, scheduler
        self._own_loops = [scheduler, leadership, listener, sweeper, housekeeper, replanner]
        self.telemetry.watch_scheduler(scheduler, leadership)

    def _make_ringer(self, leadership: Leadership) -> Ringer | None:
        make_broker = choose_broker(self.settings)
        if make_broker is not None:
            self._ringer = Ringer(
                self.database,
                self.settings,
                BrokerConnection(self.database, make_broker),
                self.telemetry,
                sweeping=lambda: FIRST_SHARD in leadership.led,
            )
        return self._ringer

    def _brokers(self) -> list[BrokerConnection]:
        receiver = None if self.worker is None else self.worker.receiver
        return [part.broker for part in (self._ringer, receiver) if part is not None]
