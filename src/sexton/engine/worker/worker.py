"""A worker: its parts put together, its start and stop, and the change of its identity."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime

import asyncpg

from sexton.config import EVERY, Settings
from sexton.engine.cluster.application import Application
from sexton.engine.cluster.database_clock import DatabaseClock
from sexton.engine.cluster.membership import Membership
from sexton.engine.doorbells.base import Doorbell
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.doorbells.postgres import PostgresDoorbell
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.engine.worker.audience import Audience, Listeners
from sexton.engine.worker.claimer import Claimer
from sexton.engine.worker.feedback import WorkerFeedback
from sexton.engine.worker.heartbeat import Heartbeat
from sexton.engine.worker.isolation import Isolation
from sexton.engine.worker.outcome_writer import OutcomeWriter
from sexton.engine.worker.pace import Pace
from sexton.engine.worker.queue import RunQueue
from sexton.engine.worker.receiver import Receiver
from sexton.engine.worker.runner import Runner
from sexton.engine.worker.state import WorkerState
from sexton.engine.worker.steps import Steps
from sexton.engine.worker.suspects import SuspectClaimer
from sexton.engine.worker.watcher import STOP_PATIENCE_SECONDS, Watcher
from sexton.engine.worker.wear import Wear
from sexton.errors import Unavailable
from sexton.postgres.database import Database, patiently
from sexton.postgres.servers import reason
from sexton.targets.capture import Capture
from sexton.targets.handler import BUILT_IN, Handler, HandlerKind, OpenHandlers, by_full_name
from sexton.targets.http.outbound import Outbound
from sexton.targets.providers import Providers, Resources
from sexton.targets.run import RunContext
from sexton.targets.table import load_needs, make_services, open_kinds, served
from sexton.targets.threads import Threads

log = logging.getLogger("sexton")

LOOPS = (Claimer.name, OutcomeWriter.name, Watcher.name)
# Handlers that can be in a transaction at the same time; PostgreSQL's connections are few.
TRANSACTIONS = 20
# Calls of asyncio.to_thread at a time, as many as asyncio itself allows for at the most.
CALLS = 32
# Runs that a line of the log names.
SHOWN = 10


class Worker:
    """Carries out runs with the handlers of an application, and with Sexton's own.

    `loops` names the loops that run by themselves; tests drive the others. Runs that may end the process go
    to `isolation`, if there is one. With `suspects`, this is such an isolated process, and claims only such
    runs. `begun` is the descriptor of the memory that it shares with its parent.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        handlers: Mapping[str, Handler],
        *,
        app: Application | None = None,
        providers: Providers | None = None,
        listeners: Listeners | None = None,
        telemetry: Telemetry | None = None,
        doorbell: Doorbell | None = None,
        broker: BrokerConnection | None = None,
        queue: RunQueue | None = None,
        time: DatabaseClock | None = None,
        now: Callable[[], datetime | None] = lambda: None,
        loops: Collection[str] = LOOPS,
        isolation: Isolation | None = None,
        suspects: bool = False,
        begun: int | None = None,
    ) -> None:
        settings = settings if app is None else app.serves(settings)
        self.telemetry = telemetry or Telemetry()
        self.state = state = WorkerState(settings, self.telemetry, now, begun)
        self.isolation = isolation
        self.queue = queue or RunQueue(database, most_lent=min(state.concurrency, TRANSACTIONS))
        self.served = served(settings)
        self._outbound = Outbound(settings)
        self._capture = Capture()
        self._resources = Resources(providers or Providers())
        state.audience = self.audience = Audience(listeners or {}, self._resources)
        addressed = handlers if app is None else by_full_name(app.name, handlers)
        self.kinds = open_kinds(make_services(database, settings, self._outbound, addressed, self._resources))
        self.feedback = WorkerFeedback(state, self.queue, database)
        self._database = database
        self._doorbell = doorbell or PostgresDoorbell(database)
        pace = Pace(most=2 * settings.claim_size)
        self.runner = Runner(state, pace, Steps(self.kinds), self.feedback)
        self.membership = Membership(
            roles=["worker"],
            lease_seconds=settings.worker_lease_seconds,
            time=time,
            app=app,
            handlers=sorted({**BUILT_IN, **handlers}),
            targets=self.served,
            queues=settings.queue_names() or [EVERY],
            namespaces=settings.namespace_names() or [EVERY],
            capacity=state.concurrency,
            on_rewind=self.telemetry.rewinds.inc,
        )
        self.heartbeat = Heartbeat(
            state,
            database,
            self.membership,
            on_identity=self._become,
            on_lost=self._abandon,
            on_cancel=self.runner.cancel,
        )
        make_broker = choose_broker(settings)
        if broker is None and make_broker is not None:
            broker = BrokerConnection(database, make_broker)
        make_claimer = SuspectClaimer if suspects else Claimer
        self.claimer: Claimer = make_claimer(
            state,
            pace,
            self.queue,
            self.heartbeat,
            self._doorbell,
            app=None if app is None else app.name,
            handlers=sorted({**BUILT_IN, **addressed}),
            targets=self.served,
            take=self.runner.take,
            load=load_needs,
            broker=broker,
            isolation=isolation,
        )
        #: For asyncio.to_thread, in a process whose event loop is Sexton's own.
        self.calls = Threads(CALLS, "sexton-call")
        handler_kind = self.kinds[HandlerKind.name]
        assert isinstance(handler_kind, OpenHandlers)
        self.wear = Wear(state, self.runner, [handler_kind.threads, self.calls])
        self.watcher = Watcher(
            state, pace, self.runner, self.wear, offset=lambda: self.membership.time.offset
        )
        self.outcome_writer = OutcomeWriter(state, pace, self.queue, self.feedback)
        all_loops: tuple[Loop, ...] = (self.claimer, self.outcome_writer, self.watcher)
        self.loops = tuple(loop for loop in all_loops if loop.name in loops)
        self.telemetry.left_behind.set_function(lambda: self.wear.left_behind)
        self.telemetry.circuits.set_function(lambda: len(self._outbound.hosts.opened()))

    @property
    def receiver(self) -> Receiver | None:
        """Not among the loops that must tick: without it, runs are only claimed later."""
        return self.claimer.receiver

    async def start(self) -> None:
        """Join, or raise `Conflict` if its application must not; then take work."""
        try:
            node = await patiently(lambda: self.membership.join(self._database))
        except BaseException:
            await self._close_kinds()
            raise
        self._become(node)
        self.runner.start()
        self.feedback.start()
        self.audience.start()
        if self.state.settings.capture_output:
            self._capture.start()
        await self.queue.open()
        self.heartbeat.start()
        for loop in self.loops:
            loop.start()
        if self.receiver is not None:
            self.receiver.start()

    async def stop(self, grace: float | None = None) -> None:
        """Take no more work, give running handlers time to end, give the other runs back, and leave."""
        await self.drain(grace)
        await self.watcher.stop()
        await self.outcome_writer.stop()
        await self.audience.stop()
        self._capture.stop()
        await self.heartbeat.stop()
        await self._announce(self.membership.leave)
        self.state.leave()
        await self._close_kinds()
        await self.queue.close()

    async def drain(self, grace: float | None = None) -> None:
        """Take no more work, give running handlers time to end, and give the other runs back."""
        state = self.state
        await self.claimer.stop()
        if self.receiver is not None:
            await self.receiver.stop()
        await self._doorbell.close()
        await self._announce(self.membership.drain)
        self.runner.release_backlog()
        grace = state.settings.grace_seconds if grace is None else grace
        isolated = asyncio.create_task(self.isolation.stop(grace)) if self.isolation is not None else None
        if state.running and grace:
            log.info("worker: waiting up to %g s for %s", grace, _named(state.running.values()))
        if not await self._wait_until_idle(grace):
            left = list(state.running.values())
            log.warning("worker: stopping what has not ended after %g s; given back: %s", grace, _named(left))
            for run in left:
                self.runner.stop_run(run, "shutdown")
            if not await self._wait_until_idle(STOP_PATIENCE_SECONDS):
                self.runner.leave_behind(list(state.running.values()))
        if isolated is not None:
            await isolated

    async def _close_kinds(self) -> None:
        for kind in self.kinds.values():
            await kind.close()
        await self._resources.close()
        await self._outbound.close()

    async def joined(self) -> int:
        """Wait until it is a node."""
        await self.state.joined.wait()
        assert self.state.node is not None
        return self.state.node

    async def idle(self) -> None:
        """Wait until nothing runs here."""
        await self.runner.idle.wait()

    # Its identity.

    def _become(self, node: int) -> None:
        self.state.become(node, self.membership.time.offset)
        self.claimer.wake()

    def _abandon(self, node: int) -> None:
        """This worker was declared dead: its runs belong to others now."""
        self.state.leave()
        for run in list(self.state.running.values()):
            self.runner.stop_run(run, "lost")

    async def _announce(self, step: Callable[..., Awaitable[None]]) -> None:
        """Record that this worker drains, or leaves."""
        try:
            async with self.queue.connection() as connection:
                await step(self._database, on=connection)
        except (Unavailable, asyncpg.PostgresError) as error:
            log.warning(
                "worker: could not record that it leaves: %s; its lease expires by itself", reason(error)
            )

    async def _wait_until_idle(self, seconds: float) -> bool:
        if self.runner.idle.is_set():
            return True  # also if there is no time to wait
        try:
            await asyncio.wait_for(self.runner.idle.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _named(runs: Collection[RunContext]) -> str:
    """The first few runs, and how many more there are."""
    shown = [f"{run.job_name} ({run.run_id})" for run, _ in zip(runs, range(SHOWN), strict=False)]
    return ", ".join(shown) + (f" and {len(runs) - SHOWN} more" if len(runs) > SHOWN else "")
