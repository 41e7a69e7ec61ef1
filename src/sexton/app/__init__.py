"""The Python API: an application, its handlers, and the jobs that it declares.

from sexton import Sexton

app = Sexton()

@app.job("0 9 * * 1", timezone="America/New_York") async def weekly_report(run): ...

app.run()

What the code declares is in `declarations`, commands on jobs are in `commands`; this module puts them
together and runs them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from sexton.app.commands import Commands
from sexton.app.origin import origin_of
from sexton.app.sync import SyncClient
from sexton.engine.cluster.application import Application
from sexton.engine.cluster.egress import decide_egress
from sexton.engine.logs import set_up_logging
from sexton.engine.loop import Loop
from sexton.engine.node import Node
from sexton.engine.process import run_to_end
from sexton.engine.worker.isolation import Origin
from sexton.errors import Conflict, Unavailable
from sexton.jobs import declare
from sexton.postgres.database import Database, patiently
from sexton.postgres.transaction import Context
from sexton.printable import counted
from sexton.security.namespaces import require_namespace
from sexton.security.secrets import with_key_at_start
from sexton.targets.handler import check_application

log = logging.getLogger("sexton")

VANISHED_SECONDS = 30.0


class Sexton(Commands):
    """An application. Without a database it uses a private PostgreSQL, shared by all processes of this user.

    `name` tells its jobs and handlers from those of others; it is the module's name unless given. Further
    keywords are settings (`namespace`, `data`, `schema`, `concurrency`, …).

        mail = Sexton("postgresql://mail@db/mail", name="mail", concurrency=50)
    """

    def __init__(self, database_url: str | None = None, *, name: str | None = None, **settings: Any) -> None:
        made_in, module, file = _caller()
        own = check_application(module if name is None else name, "name")
        super().__init__(own, {"database_url": database_url, **settings})
        self._identity = Application(own, file, given=name is not None)
        self._node: Node | None = None
        self._made_in = made_in

    @property
    def _application(self) -> Application:
        """How its workers name it to the other nodes."""
        return replace(self._identity, namespace=self.settings.namespace)

    @cached_property
    def sync(self) -> SyncClient:
        """The commands for programs without an event loop: `app.sync.schedule(…)`, `app.sync.get(…)`, …. Each
        has the parameters and the result of the coroutine of its name. `app.sync.close()`, or the end of the
        program, ends the thread that carries them out."""
        return SyncClient(self)

    @property
    def metrics(self) -> CollectorRegistry:
        """The Prometheus registry of this process while it runs, for a program that serves `/metrics` itself:
        `prometheus_client.generate_latest(app.metrics)`."""
        if self._node is None:
            raise Conflict(
                "not_running",
                f"{self.name} has metrics only while it runs.",
                hint="read app.metrics within app.running()",
            )
        return self._node.telemetry.registry

    def run(self) -> None:
        """Run scheduler and worker in this process until Ctrl-C or SIGTERM. Raises `Unavailable` if too many
        handlers continue although they were stopped, so that it can take no more runs: restart the
        process."""
        set_up_logging()
        run_to_end(self._until_stopped())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Sexton]:
        """Run scheduler and worker inside an asyncio program, during the block. Within
        `sexton.testing.engine`, which has a scheduler and a worker of its own, this only connects.

            async def lifespan() -> None:  # of FastAPI, Litestar, …
                async with app.running():
                    ...  # serve
        """
        if self._rehearsed:
            async with self.connected():
                yield self
            return
        async with self._shared.held(patient=True) as database:
            await patiently(lambda: self._check_start(database))
            roles = ("scheduler", "worker")
            settings = await patiently(lambda: decide_egress(database, self.settings, roles))
            settings = await patiently(lambda: with_key_at_start(Context(database), settings))
            node = Node(
                settings,
                database,
                roles=roles,
                handlers=self.handlers,
                app=self._application,
                providers=self._providers,
                listeners=self._listeners,
                origin=self._origin(),
            )
            keeper = self._keeper(database)
            await node.start()
            try:
                await patiently(lambda: self._declare(database))
                keeper.start()
                self._node = node
                yield self
            finally:
                self._node = None
                await keeper.stop()
                await node.stop()

    def _origin(self) -> Origin:
        """Where another process can load the application."""
        makers = (provider.make for provider in self._providers.values())
        listeners = (each for those in self._listeners.values() for each in those)
        return origin_of(self.name, self._made_in, (*self.handlers.values(), *makers, *listeners))

    async def _check_start(self, database: Database) -> None:
        """Raise `Conflict` if another program uses the name of this application, or another job the name of a
        declared job. Done before every start."""
        async with database.transaction() as connection:
            await self._application.check(database, connection, socket.gethostname())
        context = self._context(database)
        await require_namespace(context)
        await declare.check_names(context, self.name, self.jobs)

    async def _declare(self, database: Database) -> declare.Declared:
        """Create and change the declared jobs as the code says. Done at every start."""
        return await declare.declare(self._context(database), self.name, self.jobs, self.handlers)

    def _keeper(self, database: Database) -> Loop:
        """Pauses jobs that are no longer in the code, once the last node that declares them has stopped."""
        return _Keeper(self, database)

    async def _until_stopped(self) -> None:
        stop, started = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        async def live() -> None:
            async with self.running():
                started.set()
                jobs = counted(len(self.jobs), "job")
                log.info("%s is running, with %s; Ctrl-C stops it", self.name, jobs)
                worn_out = False
                if self._node is None:
                    await stop.wait()
                else:
                    worn_out = await self._node.work_until(stop)
                log.info("%s is stopping", self.name)
            if worn_out:
                raise Unavailable(
                    "worn_out",
                    f"{self.name} has ended: too many of its handlers continued although they were stopped.",
                    hint="start it again, or run it by sexton up --app, which restarts it",
                )

        def told() -> None:
            stop.set()
            if not started.is_set():
                living.cancel()  # it may be waiting for the database

        living = asyncio.create_task(live())
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, told)
        with suppress(asyncio.CancelledError):
            await living


class _Keeper(Loop):
    name = "declarations"

    def __init__(self, app: Sexton, database: Database) -> None:
        super().__init__()
        self._app = app
        self._database = database

    async def tick(self) -> float:
        context = self._app._context(self._database)
        await declare.pause_vanished(context, self._app.name, self._app.jobs)
        return VANISHED_SECONDS


def _caller() -> tuple[str, str, str]:
    """The import name of the module that made the application, the name of the application, and the file. The
    name is the same whether the module is imported, or run by its path or with -m. Without a file, as in a
    notebook, each process counts as a program."""
    names = sys._getframe(2).f_globals
    made_in, file, spec = str(names.get("__name__", "app")), names.get("__file__"), names.get("__spec__")
    module = made_in
    if module in ("__main__", "__mp_main__"):  # the latter in a process of multiprocessing
        module = spec.name.removesuffix(".__main__") if spec else Path(file).stem if file else "app"
    return made_in, module, str(Path(file).resolve()) if file else f"process {os.getpid()}"
