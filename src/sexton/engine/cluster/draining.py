"""Draining: a node hands its shards over, takes no more runs, and finishes those it has.

The wish is the state of its row: the schedulers leave it out of the hashing from their next beat on, and its
claims find nothing from that moment. It stays so until it is undone, or the process ends.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from sexton.errors import InvalidField
from sexton.model import about, decode_id
from sexton.postgres.database import Database
from sexton.refusal import not_found
from sexton.runs.situation import node_of
from sexton.runs.view import NodeView


class Drained(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of whom."""

    at: Annotated[datetime, about("When it was asked.")]
    nodes: Annotated[list[NodeView], about("The nodes concerned.")]
    warnings: Annotated[list[str], about("What the asker should know.")] = []


async def drain(database: Database, ref: str, *, undo: bool = False) -> Drained:
    """Drain the nodes that `ref` means, or let them go on."""
    async with database.transaction() as connection:
        there = [node_of(row) for row in await connection.fetch(database.statement("list_nodes"), None)]
        chosen = {node.node_id for node in meant([node for node in there if node.state != "dead"], ref)}
        states = ("live", "draining") if undo else ("draining", "live")
        numbers = [decode_id("n", node_id) for node_id in chosen]
        await connection.execute(database.statement("set_node_state"), numbers, *states)
        at = await connection.fetchval("select clock_timestamp()")
        after = [node_of(row) for row in await connection.fetch(database.statement("list_nodes"), None)]
    leads = any(node.node_id in chosen and "scheduler" in node.roles for node in after)
    left = any(node.state == "live" and "scheduler" in node.roles for node in after)
    warnings = [] if undo or left or not leads else ["no other scheduler is live: nothing fires meanwhile"]
    return Drained(at=at, nodes=[node for node in after if node.node_id in chosen], warnings=warnings)


def meant(nodes: list[NodeView], ref: str) -> list[NodeView]:
    """The nodes that are meant: one by its id; all of a process by its name, `host:pid` or a beginning of it;
    all of a machine by the name of its host."""
    by_id = [node for node in nodes if node.node_id == ref]
    if by_id:
        return by_id
    of_host = [node for node in nodes if node.name.rsplit(":", 2)[0] == ref]
    if of_host:
        return of_host
    processes = {process_of(node) for node in nodes if node.name.startswith(ref) or process_of(node) == ref}
    if not ref or not processes:
        raise not_found("node", ref)
    if len(processes) > 1:
        raise InvalidField(
            "ambiguous_node",
            f"{ref} could be {', '.join(sorted(processes))}",
            field="node",
            hint="write more of its name, or its id",
        )
    return [node for node in nodes if process_of(node) in processes]


def process_of(node: NodeView) -> str:
    """What the nodes of one process share: `host:pid`."""
    return node.name.rsplit(":", 1)[0]
