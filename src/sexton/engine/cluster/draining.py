"""Draining: a node hands its shards over, takes no more runs, and finishes the runs that it has.

The request is the state of the node's row: from their next beat on, schedulers leave the node out of the
hashing; its claims find nothing from that moment. This lasts until a caller undoes it, or the process ends.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from sexton.errors import InvalidField
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import SHARED, Context, command
from sexton.refusal import about, not_found
from sexton.runs.situation import list_nodes
from sexton.runs.view import NodeView


class Drained(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request to drain nodes."""

    at: Annotated[datetime, about("When the request was made.")]
    nodes: Annotated[list[NodeView], about("The nodes that the request named.")]
    warnings: Annotated[list[str], about("What the caller should know.")] = []


@command
async def drain(context: Context, ref: str, *, undo: bool = False) -> Drained:
    """Drain the nodes that `ref` names, or undo it."""
    now = await context.time()
    there = [node for node in await list_nodes(context, now) if node.state != "dead"]
    chosen = {node.node_id: node.name for node in meant(there, ref)}
    before, after = ("draining", "live") if undo else ("live", "draining")
    changed = await context.fetch(
        "cluster/set_node_state",
        nodes=[decode_id("n", node_id) for node_id in chosen],
        state=after,
        before=before,
    )
    for row in changed:
        node_id = encode_id("n", row["id"])
        context.changed(
            "node.let_go_on" if undo else "node.drained",
            node_id,
            chosen[node_id],
            before={"state": before},
            after={"state": after},
            namespace=SHARED,
        )
    nodes = await list_nodes(context, now)
    leads = any(node.node_id in chosen and "scheduler" in node.roles for node in nodes)
    left = any(node.state == "live" and "scheduler" in node.roles for node in nodes)
    warnings = [] if undo or left or not leads else ["no other scheduler is live: nothing fires meanwhile"]
    return Drained(at=now, nodes=[node for node in nodes if node.node_id in chosen], warnings=warnings)


def meant(nodes: list[NodeView], ref: str) -> list[NodeView]:
    """The nodes that a reference names: one by its id; all of a process by its name, `host:pid`, or the
    beginning of it; all of a machine by the name of its host."""
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
