"""One process of Sexton: the one module that puts its parts together.

    role        what the process gets
    scheduler   a member of the cluster that leads some shards (`Leadership`) and fires what is due in them
                (`Scheduler`); notifications (`Listener`); a `Ringer`, if a broker tells workers of new runs;
                and upkeep: `Sweeper`, `Housekeeper`, `Replanner`, `Sealer`, `ActivityCounter`
    worker      a second member, which claims runs and carries them out (`Worker`); `DeadLetterSender`
    api         with a scheduler, nothing more; else a member that only shows itself (`Presence`)

Serving HTTP is a face on top of it (`sexton.api`). Inside an existing asyncio program the same node runs with
the same guarantees.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

from sexton.config import Settings
from sexton.engine import crash
from sexton.engine.cluster.application import Application
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.engine.cluster.presence import Presence
from sexton.engine.descriptors import Descriptors
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.doorbells.ringer import Ringer
from sexton.engine.listener import Listener
from sexton.engine.loop import Loop, Vital
from sexton.engine.scheduler.scheduler import Scheduler
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.activity_counter import ActivityCounter
from sexton.engine.upkeep.dead_letter_sender import DeadLetterSender
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.engine.upkeep.replanner import Replanner
from sexton.engine.upkeep.sealer import Sealer
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.engine.worker.audience import Listeners
from sexton.engine.worker.isolation import Isolation, Origin
from sexton.engine.worker.worker import Worker
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import require_migrated
from sexton.postgres.partitions import make_partitions
from sexton.schedules.zone import load_zones
from sexton.targets.handler import Handler
from sexton.targets.providers import Providers

log = logging.getLogger("sexton")

# Its leader does what one node of the cluster does: ring again for runs that wait, seal the audit, count.
FIRST_SHARD = 0


class Node:
    """Make it, `start` it, and `stop` it in the end. `origin` is where its application comes from, `begun`
    the descriptor of the memory that its worker shares with the parent of this process."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        roles: Collection[str],
        handlers: Mapping[str, Handler] | None = None,
        app: Application | None = None,
        providers: Providers | None = None,
        listeners: Listeners | None = None,
        origin: Origin | None = None,
        begun: int | None = None,
    ) -> None:
        crash.check()
        self.settings = settings
        self.database = database
        self.roles = tuple(roles)
        self.telemetry = Telemetry()
        self.leadership: Leadership | None = None
        self.scheduler: Scheduler | None = None
        self.worker: Worker | None = None
        self._loops: list[Loop] = [Descriptors()]
        # Not among the loops that must tick: without it, runs are only claimed later.
        self._ringer: Ringer | None = None
        if "scheduler" in roles:
            self._add_scheduler()
        elif "api" in roles:
            self._add_presence()
        if "worker" in roles:
            isolation = Isolation(database, settings, handlers or {}, origin)
            self._add_worker(handlers or {}, app, providers, listeners, isolation, begun)
        if self._brokers():
            self.telemetry.watch_queue(lambda: all(broker.up for broker in self._brokers()))

    def _add_scheduler(self) -> None:
        database, settings, telemetry = self.database, self.settings, self.telemetry
        membership = Membership(
            roles=[role for role in self.roles if role != "worker"],
            lease_seconds=settings.lease_seconds,
            on_rewind=telemetry.rewinds.inc,
        )
        leadership = Leadership(database, settings, membership)
        scheduler = Scheduler(database, settings, leadership)
        channels: dict[str, Callable[[str], None]] = {
            "sexton_shards": lambda _: leadership.wake(),
            "sexton_timers": scheduler.timers_changed,
        }
        if (make_broker := choose_broker(settings)) is not None:
            broker = BrokerConnection(database, make_broker)
            ringer = Ringer(
                database, settings, broker, telemetry, sweeping=lambda: FIRST_SHARD in leadership.led
            )
            scheduler.on_fired = ringer.fired
            # A firing names no lane, and the scheduler tells the ringer of it.
            channels["sexton_runs"] = lambda lane: ringer.became_available() if lane else None
            self._ringer = ringer
        listener = Listener(database, channels)
        scheduler.listening = lambda: listener.alive
        sweeper = Sweeper(
            database,
            settings,
            telemetry,
            steady=lambda: membership.steady(settings.worker_lease_seconds),
            node=membership.name,
        )
        channels["sexton_deaths"] = lambda _: sweeper.wake()
        housekeeper = Housekeeper(database, settings, node=membership.name)
        sealer = Sealer(database, leading=lambda: FIRST_SHARD in leadership.led)
        activity = ActivityCounter(database, leading=lambda: FIRST_SHARD in leadership.led)
        replanner = Replanner(database, telemetry, node=membership.name)
        telemetry.watch_scheduler(scheduler, leadership)
        self.leadership, self.scheduler = leadership, scheduler
        # They stop in this order: first nothing more is fired, then the shards are handed over.
        self._loops += [scheduler, leadership, listener, sweeper, housekeeper, replanner, sealer, activity]

    def _add_presence(self) -> None:
        membership = Membership(
            roles=["api"],
            lease_seconds=self.settings.worker_lease_seconds,
            on_rewind=self.telemetry.rewinds.inc,
        )
        self._loops.append(Presence(self.database, self.settings, membership))

    def _add_worker(
        self,
        handlers: Mapping[str, Handler],
        app: Application | None,
        providers: Providers | None,
        listeners: Listeners | None,
        isolation: Isolation,
        begun: int | None,
    ) -> None:
        self.worker = Worker(
            self.database,
            self.settings,
            handlers,
            app=app,
            providers=providers,
            listeners=listeners,
            telemetry=self.telemetry,
            isolation=isolation,
            begun=begun,
        )
        settings = self.worker.state.settings
        self._loops.append(DeadLetterSender(self.database, settings, self.worker.kinds, self.telemetry))

    @property
    def loops(self) -> tuple[Vital, ...]:
        """Everything that must tick for the node to be ready."""
        if self.worker is None:
            return tuple(self._loops)
        return (*self._loops, *self.worker.loops, self.worker.heartbeat)

    async def work_until(self, stop: asyncio.Event) -> bool:
        """For a process of its own: wait until it is told to stop. True if its worker was worn out before
        that: it has finished what it had by then, and the process should be replaced by another."""
        if (worker := self.worker) is None:
            await stop.wait()
            return False
        # Calls of asyncio.to_thread that never return then neither keep those of other handlers from their
        # turn nor the process from ending.
        asyncio.get_running_loop().set_default_executor(worker.calls)
        told = asyncio.create_task(stop.wait())
        worn_out = asyncio.create_task(worker.state.worn_out.wait())
        await asyncio.wait((told, worn_out), return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        worn_out.cancel()
        if stop.is_set():
            return False
        await worker.drain()
        return True

    def warnings(self) -> list[str]:
        """What makes the node slower, but does not keep it from its work."""
        return sorted({broker.problem for broker in self._brokers() if broker.problem})

    async def start(self) -> None:
        """Returns when it is at work; waits for the database as long as that takes. Raises `Conflict` if
        another program has the name of its application."""
        load_zones()
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
            for loop in self._loops:
                loop.start()
            if self._ringer is not None:
                self._ringer.start()
            if self.worker is not None:
                await self.worker.start()
        except BaseException:
            for part in self.loops:
                await part.stop()
            if self._ringer is not None:
                await self._ringer.stop()
            raise

    async def stop(self) -> None:
        """Stop firing, hand the shards over, then let runs finish."""
        for loop in self._loops:
            await loop.stop()
        if self._ringer is not None:
            await self._ringer.stop()
        if self.worker is not None:
            await self.worker.stop()

    def _brokers(self) -> list[BrokerConnection]:
        receiver = None if self.worker is None else self.worker.receiver
        return [part.broker for part in (self._ringer, receiver) if part is not None]
