"""A worker over HTTP: it joins, beats, and leaves."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from sexton import __version__
from sexton.config import EVERY
from sexton.engine.remote.spec import WorkerSpec
from sexton.errors import Conflict
from sexton.model import Cancel, Failure, Outcome, encode_id
from sexton.postgres.database import LOCALLY_BY_KEY, by_column
from sexton.postgres.row import number_of
from sexton.postgres.transaction import Context, command
from sexton.printable import counted
from sexton.refusal import check_text, not_found
from sexton.runs.completion import settle

# Per namespace: each worker is a row that other nodes read.
MOST_WORKERS = 1000


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """A worker as its row says. `held` are its runs; `suspects`: whether they may end its process."""

    node: int
    draining: bool
    handlers: Sequence[str]
    queues: Sequence[str] | None
    held: Sequence[int]
    suspects: bool
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class RemoteBeat:
    """The answer to a worker: which of its runs to stop, since a caller cancelled them or another worker has
    them now."""

    worker: RemoteWorker
    cancel: Sequence[int]
    lost: Sequence[int]


@command
async def join(context: Context, spec: WorkerSpec, credential: str) -> int:
    """Become a node that takes runs of the namespace; returns its number."""
    check_text(spec.name, "name", 100)
    for place, handler in enumerate(spec.handlers):
        check_text(handler, f"handlers[{place}]", 200)
    number = await context.fetchval(
        "remote/join",
        name=f"{spec.name}:http:{secrets.token_hex(3)}",
        version=__version__,
        handlers=sorted(set(spec.handlers)),
        queues=[EVERY] if spec.queues is None else sorted(set(spec.queues)),
        namespace=context.namespace,
        capacity=spec.capacity,
        credential=credential,
        lease_seconds=spec.lease_seconds,
        most=MOST_WORKERS,
    )
    if number is None:
        raise Conflict(
            "too_many_workers",
            f"the namespace {context.namespace} has {MOST_WORKERS} workers over HTTP already",
            hint="let workers leave when they stop: DELETE /api/v1/workers/{worker}",
        )
    return int(number)


async def renew(context: Context, worker_id: str, credential: str) -> RemoteWorker:
    """Renew the lease. Raises `worker_not_found`, or `worker_lost` if it was declared dead."""
    node = number_of("n", worker_id, "worker")
    row = await context.fetchrow(
        "remote/renew", node=node, credential=credential, namespace=context.namespace
    )
    if row is None:
        raise not_found("worker", worker_id)
    if not row["renewed"]:
        raise lost(worker_id)
    return _worker(node, row)


def lost(worker_id: str) -> Conflict:
    return Conflict(
        "worker_lost",
        f"the worker {worker_id} was not heard of within its lease: its runs are given to others",
        hint="stop its runs, and join again: POST /api/v1/workers",
    )


async def beat(
    context: Context, worker_id: str, credential: str, known: Collection[int] | None
) -> RemoteBeat:
    """Renew the lease, and tend the runs that the worker holds. `known` are the runs that it works on. Others
    are given back, unless their claim is so young that the answer may be on its way."""
    worker = await renew(context, worker_id, credential)
    held = dict(await _tend(context, worker, known)) if worker.held else {}
    cancel = [run for run, cancelled in held.items() if cancelled]
    return RemoteBeat(worker, cancel, [run for run in known or () if run not in held])


@command
async def _tend(
    context: Context, worker: RemoteWorker, known: Collection[int] | None
) -> list[tuple[int, bool]]:
    """Fail the runs that are over their time, and give back those that the worker does not know of. Returns
    the runs that it still holds, and whether each is cancelled."""
    rows = await context.fetch(
        "remote/list_held", node=worker.node, known_seconds=worker.lease_seconds, now=context.now
    )
    overdue = {row["id"]: row["claim"] for row in rows if row["overdue"]}
    unknown = {
        row["id"]: row["claim"]
        for row in rows
        if known is not None and row["known"] and not row["overdue"] and row["id"] not in known
    }
    gone = await _lock(context, worker.node, overdue | unknown)
    await settle(context, [(row, _overdue(row)) for run, row in gone.items() if run in overdue])
    if given := [(run, unknown[run], "the answer to its claim was lost") for run in gone if run in unknown]:
        await give_back(context, worker.node, given)
    if gone:
        await context.execute("remote/let_go", nodes=[worker.node], runs=sorted(gone))
    return [(row["id"], row["cancelled"]) for row in rows if row["id"] not in gone]


async def _lock(context: Context, node: int, claims: Mapping[int, int]) -> dict[int, asyncpg.Record]:
    """Lock the runs that the worker still holds by these claims: it may have reported some, and claimed them
    again."""
    if not claims:
        return {}
    await context.open.execute(LOCALLY_BY_KEY)
    rows = await context.fetch(
        "remote/lock_runs", runs=sorted(claims), node=node, namespace=context.namespace, now=context.now
    )
    return {row["id"]: row for row in rows if row["state"] == "running" and row["claim"] == claims[row["id"]]}


def _overdue(row: asyncpg.Record) -> Outcome:
    if row["cancelled"]:
        return Cancel("cancelled")
    taken = counted(round(row["finished"] - row["started"]), "second")
    return Failure(f"timeout: its worker has not reported an end within {taken}", kind="timeout")


async def leave(context: Context, worker_id: str, credential: str) -> int:
    """Give its runs back as if they had not been claimed, and end; returns how many there were."""
    worker = await renew(context, worker_id, credential)
    return await _leave(context, worker)


@command
async def _leave(context: Context, worker: RemoteWorker) -> int:
    await context.open.execute(LOCALLY_BY_KEY)
    rows = await context.fetch("remote/list_held", node=worker.node, known_seconds=0.0, now=context.now)
    if rows:
        await give_back(context, worker.node, [(row["id"], row["claim"], None) for row in rows])
    await context.execute("cluster/leave", node=worker.node)
    return len(rows)


async def give_back(
    context: Context, node: int, runs: Sequence[tuple[int, int, str | None]], *, delay: float = 0.0
) -> None:
    """Give runs (id, claim, why) back as if they had not been claimed."""
    columns = by_column(("runs", "claims", "reasons"), runs)
    await context.execute("recording/release", node=node, delay=delay, company=0, now=context.now, **columns)


def _worker(node: int, row: asyncpg.Record) -> RemoteWorker:
    queues = list(row["queues"])
    return RemoteWorker(
        node,
        row["state"] == "draining",
        row["handlers"],
        None if queues == [EVERY] else queues,
        row["begun"],
        row["suspects"],
        row["lease_seconds"],
    )


def worker_id_of(node: int) -> str:
    return encode_id("n", node)
