"""Content as a load for the fault suite: entities in PostgreSQL and at a site that counts what is done to
them, with single actions, windows and releases, planned in waves while faults happen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.adapters.configured import put_adapter
from sexton.content.bulk import create_many
from sexton.content.entity import put_entity
from sexton.content.model import Action, Entity
from sexton.content.releases.release import create_release
from sexton.content.spec import EntitySpec, ReleaseItemSpec, ReleaseSpec, WindowSpec
from sexton.content.window import create_window
from sexton.errors import InvalidField
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.faults.content_checker import (
    ContentLedger,
    Findings,
    MadeChange,
    PlannedChange,
    WindowSeries,
    check_content,
)
from tests.faults.harness import Cluster
from tests.faults.member import Member

SITE = "site"
KINDS = {"post": "builtin", "page": SITE}  # entity types, and where they live
#: Plans of content that have not ended.
LEFT = """
select plan.entity_type || '/' || plan.entity_id || ' ' || plan.action || ' of ' || plan.scheduled_at as what
from sexton.content_schedules as plan
where exists (select from sexton.timers as timer where timer.job_id = plan.job_id)
    or exists (select from sexton.runs as run where run.job_id = plan.job_id)
order by plan.id
"""
#: Where each of those stands.
STANDING = """
select plan.entity_type || '/' || plan.entity_id || ' ' || plan.action as what, plan.scheduled_at,
    timer.due_at, run.id as run, run.state, run.attempt, run.available_at, run.slot, run.node,
    node.state as node_state, run.error, clock_timestamp() as now
from sexton.content_schedules as plan
left join sexton.timers as timer on timer.job_id = plan.job_id
left join sexton.runs as run on run.job_id = plan.job_id
left join sexton.nodes as node on node.id = run.node
where timer.job_id is not null or run.id is not null
order by plan.id
"""

Plan = Callable[[Context, str, str, datetime], Awaitable[None]]


class Site:
    """A small CMS. It does what it is asked, and counts what that changes."""

    def __init__(self) -> None:
        self.url = ""
        self.states: dict[str, str] = {}
        self.effects: list[MadeChange] = []

    async def read(self, request: web.Request) -> web.Response:
        return web.json_response({"status": self.states[request.match_info["id"]]})

    async def change(self, request: web.Request) -> web.Response:
        number, action = request.match_info["id"], request.match_info["action"]
        state = {"publish": "published", "unpublish": "unpublished"}[action]
        if self.states[number] != state:
            self.states[number] = state
            self.effects.append(MadeChange(f"page/{number}", action, datetime.now(UTC)))
        return web.json_response({"status": state})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        application = web.Application()
        application.router.add_get("/pages/{id}", self.read)
        application.router.add_post("/pages/{id}/{action}", self.change)
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            [(host, port)] = [address[:2] for address in runner.addresses]
            self.url = f"http://{host}:{port}"
            yield
        finally:
            await runner.cleanup()

    def config(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "state": {"path": "/pages/{{entity_id}}", "state": "status"},
            "publish": {"path": "/pages/{{entity_id}}/publish", "confirm": {"status": "published"}},
            "unpublish": {"path": "/pages/{{entity_id}}/unpublish", "confirm": {"status": "unpublished"}},
        }


class ContentLoad:
    """What is planned, and what should become of it."""

    def __init__(self, cluster: Cluster, site: Site) -> None:
        self._cluster = cluster
        self._site = site
        self._entities = 3 if cluster.scale.rounds == 1 else 20
        self._made: list[PlannedChange] = []
        #: By number: the entity, and when it is to be opened.
        self._windows: dict[int, tuple[str, list[datetime]]] = {}
        self._waves = 0

    async def prepare(self) -> None:
        async with self._context() as context:
            await put_adapter(context, SITE, AdapterSpec(kind="http", config=self._site.config()))
            names = [*map(str, range(self._entities)), "window", "r1", "r2"]
            for name in names:
                await put_entity(context, Entity("post", name), EntitySpec(body={}))
                self._site.states[name] = "draft"

    async def wave(self, seconds: int = 4) -> None:
        """Each entity is published and unpublished, every second; two are opened and closed again and again,
        and two releases go out."""
        self._waves += 1
        async with self._context() as context:
            begin = await self._soon()
            items: list[dict[str, Any]] = [
                {
                    "entity_type": kind,
                    "entity_id": str(number),
                    "action": "unpublish" if second % 2 else "publish",
                    "at": begin + timedelta(seconds=second),
                    "created_by": "faults",
                    "adapter": adapter,
                }
                for kind, adapter in KINDS.items()
                for number in range(self._entities)
                for second in range(2 * (seconds // 2))
            ]
            for item, made in zip(items, await create_many(context, items), strict=True):
                self._keep(f"{item['entity_type']}/{item['entity_id']}", item["action"], item["at"], made)
            for kind, adapter in KINDS.items():
                await self._in_time(self._release, context, kind, adapter)
                if self._waves == 1:
                    await self._in_time(self._window, context, kind, adapter)

    async def _soon(self) -> datetime:
        return (await self._cluster.now()).replace(microsecond=0) + timedelta(seconds=2)

    async def _in_time(self, plan: Plan, context: Context, kind: str, adapter: str) -> None:
        """On a busy machine a time may be over before it is planned: then a later one is."""
        while True:
            try:
                return await plan(context, kind, adapter, await self._soon())
            except InvalidField as error:
                if error.code != "in_the_past":
                    raise

    async def _release(self, context: Context, kind: str, adapter: str, at: datetime) -> None:
        action = Action.PUBLISH if self._waves % 2 else Action.UNPUBLISH
        spec = ReleaseSpec(
            items=[ReleaseItemSpec(entity_type=kind, entity_id=name, action=action) for name in ("r1", "r2")],
            created_by="faults",
            at=at,
            adapter=adapter,
            force=True,
        )
        for item in (await create_release(context, spec)).items:
            self._keep(item.content_id, action.value, at, item.schedule_id)

    async def _window(self, context: Context, kind: str, adapter: str, begin: datetime) -> None:
        times = 4
        spec = WindowSpec(
            entity_type=kind,
            entity_id="window",
            created_by="faults",
            starts=begin.isoformat(),
            ends=(begin + timedelta(seconds=1)).isoformat(),
            recurrence_rule=f"FREQ=SECONDLY;INTERVAL=2;COUNT={times}",
            adapter=adapter,
        )
        made = decode_id("c", (await create_window(context, spec)).window_id)
        assert made is not None
        self._windows[made] = f"{kind}/window", [begin + timedelta(seconds=2 * each) for each in range(times)]

    def _keep(self, entity: str, action: str, at: datetime, made: str) -> None:
        number = decode_id("c", made)
        assert number is not None
        self._made.append(PlannedChange(number, entity, action, at))

    async def until_gone(self, members: Sequence[Member]) -> None:
        """Wave after wave, until these have died under this load."""
        while any(member.alive for member in members):
            await self.wave()
            await self.ended()

    async def ended(self) -> None:
        try:
            await self._cluster.until_true(f"select not exists ({LEFT})")
        except AssertionError as error:
            left = await self._cluster.fetch(STANDING)
            raise AssertionError("\n".join([str(error), *(str(dict(row)) for row in left)])) from None

    async def settled(self) -> None:
        """Wait until all of it has ended, and check it."""
        await self.ended()
        rows = await self._cluster.fetch("select id from sexton.jobs where name like 'content/%'")
        self._cluster.apart.update(row["id"] for row in rows)
        ledger = await self._ledger()
        self._cluster.figures["content"] = len(ledger.planned) + sum(
            2 * each.opened for each in ledger.windows
        )
        found: Findings = check_content(ledger)
        if found:
            told = "\n".join(f"{name}: {text}" for name, texts in found.items() for text in texts[:5])
            raise AssertionError(f"content: {told}\n{self._cluster.said()}")

    async def _ledger(self) -> ContentLedger:
        fetch = self._cluster.fetch
        changes = [
            MadeChange(
                f"{row['entity_type']}/{row['entity_id']}", row["action"], row["at"], row["schedule_id"]
            )
            for row in await fetch("select * from sexton.content_changes order by id")
        ]
        states = {
            f"{row['entity_type']}/{row['entity_id']}": row["state"]
            for row in await fetch("select * from sexton.content_entities")
        }
        states |= {f"page/{number}": state for number, state in self._site.states.items()}
        return ContentLedger(
            self._made,
            changes,
            list(self._site.effects),
            states,
            {f"page/{number}" for number in self._site.states},
            [await self._series(*window) for window in self._windows.items()],
            [row["what"] for row in await fetch(LEFT)],
        )

    async def _series(self, number: int, window: tuple[str, list[datetime]]) -> WindowSeries:
        [row] = await self._cluster.fetch(
            """select count(*) filter (where ended.status = 'success') as opened,
                coalesce(sum(coalesce(ended.occurrences, 1)) filter (where ended.status <> 'success'), 0)
                    as skipped
            from sexton.content_schedules as plan join sexton.history as ended on ended.job_id = plan.job_id
            where plan.id = $1""",
            number,
        )
        entity, times = window
        # On a busy machine the beginning may be over when it is planned: it owes nothing from before that.
        planned_at = await self._cluster.value(
            """select job.created_at
            from sexton.content_schedules as plan join sexton.jobs as job on job.id = plan.job_id
            where plan.id = $1""",
            number,
        )
        owed = sum(at > planned_at for at in times)
        return WindowSeries(number, entity, owed, row["opened"], row["skipped"])

    @asynccontextmanager
    async def _context(self) -> AsyncIterator[Context]:
        database = await Database.open(self._cluster.server.database_url(self._cluster.name), size=2)
        try:
            yield Context(database, actor="faults")
        finally:
            await database.close()


@asynccontextmanager
async def content_load(cluster: Cluster) -> AsyncIterator[ContentLoad]:
    site = Site()
    async with site.serving():
        load = ContentLoad(cluster, site)
        await load.prepare()
        yield load
        await load.settled()
