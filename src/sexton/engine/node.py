"""One process of Sexton: the one module that puts its parts together.

    role        what the process gets
    scheduler   a member of the cluster that leads some shards (`Leadership`) and fires what is due in them
                (`Scheduler`); notifications (`Listener`); a `Ringer`, if a broker tells workers of new runs;
                and upkeep: `Sweeper`, `Housekeeper`, `Replanner`, `Sealer`, `ActivityCounter`
    worker      a second member, which claims runs and carries them out (`Worker`); `DeadLetterSender`
    api         with a scheduler, nothing more; else a member that only shows itself (`Presence`)

`sexton.api` serves HTTP on top of a node. Inside an existing asyncio program the same node runs with the same
guarantees.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial

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

# The leader of this shard does the work that only one node does: ring again for waiting runs, seal the audit,
# count.
FIRST_SHARD = 0


class Node:
    """Make a node, `start` it, and `stop` it in the end. `origin` is where its application comes from;
    `begun` is the descriptor of the memory that its worker shares with the parent of this process."""

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
        # Not among the loops that must tick: without a ringer, workers only claim runs later.
        self._ringer: Ringer | None = None
        if "scheduler" in roles:
            self._add_scheduler()
        elif "api" in roles:
            self._add_presence()
        if "worker" in roles:
            self.worker = worker = Worker(
                database,
                settings,
                handlers or {},
                app=app,
                providers=providers,
                listeners=listeners,
                telemetry=self.telemetry,
                isolation=Isolation(database, settings, handlers or {}, origin),
                begun=begun,
            )
            served = worker.state.settings
            self._loops.append(DeadLetterSender(database, served, worker.kinds, self.telemetry))
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

        def leads_first() -> bool:
            return FIRST_SHARD in leadership.led

        channels: dict[str, Callable[[str], None]] = {
            "sexton_shards": lambda _: leadership.wake(),
            "sexton_timers": scheduler.timers_changed,
        }
        if (make_broker := choose_broker(settings)) is not None:
            broker = BrokerConnection(database, make_broker)
            ringer = Ringer(database, settings, broker, telemetry, sweeping=leads_first)
            scheduler.on_fired = ringer.fired
            # A firing notifies without a lane: the scheduler itself passes it to the ringer.
            channels["sexton_runs"] = lambda lane: ringer.became_available() if lane else None
            self._ringer = ringer
        listener = Listener(database, channels)
        scheduler.listening = lambda: listener.alive
        node, steady = membership.name, partial(membership.steady, settings.worker_lease_seconds)
        sweeper = Sweeper(database, settings, telemetry, steady=steady, node=node)
        channels["sexton_deaths"] = lambda _: sweeper.wake()
        housekeeper = Housekeeper(database, settings, node=node)
        sealer, activity = (
            Sealer(database, leading=leads_first),
            ActivityCounter(database, leading=leads_first),
        )
        replanner = Replanner(database, telemetry, node=node)
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

    @property
    def loops(self) -> tuple[Vital, ...]:
        """Everything that must tick for the node to be ready."""
        if self.worker is None:
            return tuple(self._loops)
        return (*self._loops, *self.worker.loops, self.worker.heartbeat)

    async def work_until(self, stop: asyncio.Event) -> bool:
        """In its own process: wait for the request to stop. Returns True if its worker was worn out before
        that: then its runs have finished, and another process should replace this one."""
        if (worker := self.worker) is None:
            await stop.wait()
            return False
        # So a call of asyncio.to_thread that never returns blocks neither other handlers nor the end of the
        # process.
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
        """Problems that make the node slower, but do not stop it."""
        return sorted({broker.problem for broker in self._brokers() if broker.problem})

    async def start(self) -> None:
        """Returns once the node works; waits as long as the database is away. Raises `Conflict` if another
        program has the name of its application."""
        load_zones()
        if self.database.pooled:
            log.warning(
                "a pooler such as PgBouncer is between this node and PostgreSQL: it passes no notifications,"
                " so this node looks for changes every %g s",
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
