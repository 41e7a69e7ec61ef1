"""How PostgreSQL carries a statement out: the nodes of its plan, and the rows that were read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sexton.postgres.database import Connection

Node = dict[str, Any]


async def explain(
    connection: Connection, statement: str, arguments: Iterable[Any], *, undone: bool = True
) -> list[Node]:
    """The nodes of the plan that a prepared statement gets on this connection: as a statement of its own with
    these arguments it may get another one. It is run, and undone unless it is to stay."""
    values = ", ".join(map(_literal, arguments))
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(f"prepare explained as {statement}")
    text = await connection.fetchval(
        f"explain (analyze, buffers, timing off, format json) execute explained ({values})"
    )
    await (transaction.rollback() if undone else transaction.commit())
    await connection.execute("deallocate explained")
    return nodes(msgspec.json.decode(text)[0]["Plan"])


def nodes(plan: Node) -> list[Node]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def rows_read(plan: Iterable[Node], table: str = "runs") -> dict[str, int]:
    """How many rows of the table were read by which way (an index, or a scan of all)."""
    ways: dict[str, int] = {}
    for node in plan:
        if node.get("Relation Name") == table and node["Node Type"].endswith("Scan") and node["Actual Loops"]:
            way = str(node.get("Index Name") or node["Node Type"])
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            ways[way] = ways.get(way, 0) + int(rows * node["Actual Loops"])
    return ways


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "'{" + ",".join("null" if each is None else str(each) for each in value) + "}'"
    return f"'{value}'"
