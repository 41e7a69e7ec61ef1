"""`sexton cluster` and `sexton drain`: show the nodes and leaders, and drain a node."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton import clock
from sexton.api.engine import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import Client
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, width, write, write_json
from sexton.cli.remote import moment, seconds, short_time
from sexton.printable import counted

WATCH_SECONDS = 2.0
WAIT_SECONDS = 0.5
SKEWED_MS = 500
# The width of the columns beside the name.
OTHERS = 66
SHORTEST_HOST = 4
# A heartbeat this soon after the request may have been sent before it.
SETTLED_SECONDS = 0.2


@command(routes.GET_CLUSTER)
def cluster(
    ask: Ask,
    *,
    shards: Annotated[bool, Parameter(help="Show every shard on a line of its own.")] = False,
    stopped: Annotated[bool, Parameter(help="Also show nodes that stopped within the last hour.")] = False,
    watch: Annotated[bool, Parameter(help="Refresh every two seconds, until Ctrl-C.")] = False,
) -> int:
    """Show the cluster: nodes, who leads which shards, the elector.

    Ends with 1 if a shard has no leader or the elector does not answer.
    """
    while True:
        found = ask()
        if ask.json:
            write_json(found)
        else:
            _show(found, every_shard=shards, stopped=stopped)
        if not watch:
            break
        clock.block(WATCH_SECONDS)
        print()
    good = found["shards_led"] == found["shards"] and found["elector"]["ok"]
    return DONE if good else NOT_DONE


@command(routes.DRAIN_NODE)
def drain(
    ask: Ask,
    *,
    wait: Annotated[bool, Parameter(help="Wait until the node leads no shard and runs nothing.")] = False,
) -> int:
    """Drain a node: it hands over its shards and finishes its runs.

    It takes no more of either until it is undone or started again. At a deploy:
    drain --wait, stop it, start the new one.
    """
    asked = ask()
    if wait and "undo" not in ask.given:
        asked["nodes"] = _wait(ask.client, asked)
    if ask.json:
        write_json(asked)
        return DONE
    out = console()
    for each in asked["nodes"]:
        write(out, f"{each['name']} ({each['node_id']}, {','.join(each['roles'])}) {_burden(each)}")
    for warning in asked["warnings"]:
        write(console(error=True), warning, "yellow")
    return DONE


def _wait(client: Client, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Wait until each node has sent a heartbeat without shards and runs, or has stopped; their last
    states."""
    since = moment(asked["at"])
    assert since is not None
    seen = {each["node_id"]: each for each in asked["nodes"]}
    busy = set(seen)
    while busy:
        there = {each["node_id"]: each for each in client.ask(routes.GET_CLUSTER)["nodes"]}
        for name in list(busy):
            each = there.get(name)
            if each is None or each["state"] in ("stopped", "dead", "expired"):
                busy.discard(name)
                continue
            seen[name] = each
            beat = moment(each["heartbeat_at"])
            told = beat is not None and (beat - since).total_seconds() > SETTLED_SECONDS
            if each["state"] == "live" or (told and not each["shards"] and not each["running"]):
                busy.discard(name)
        if busy:
            clock.block(WAIT_SECONDS)
    return list(seen.values())


def _burden(node: dict[str, Any]) -> str:
    if node["state"] != "draining":
        return f"is {node['state']}"
    has = [
        counted(node[what], word) for what, word in (("shards", "shard"), ("running", "run")) if node[what]
    ]
    return f"is draining, with {' and '.join(has)} to go" if has else "is drained"


def _show(found: dict[str, Any], *, every_shard: bool, stopped: bool) -> None:
    out = console()
    wide = width(out) > 110
    headings = ["node", "id", "state", "roles", "heard", "skew", "shards", "wheel", "running"]
    nodes = [node for node in found["nodes"] if stopped or node["state"] != "stopped"]
    apart = ["namespaces"] if any(map(serves_some, nodes)) else []
    more_headings = [*apart, *(["queues", "app", "version"] if wide else [])]
    spare = ("running", "wheel", "skew")
    elastic = ("node", "roles", *apart, *(["queues", "app"] if wide else []))
    table = Table(*headings, *more_headings, elastic=elastic, spare=spare)
    for node in nodes:
        skew = node["skew_ms"]
        leads, works = "scheduler" in node["roles"], "worker" in node["roles"]
        more = [served_by(node)] if apart else []
        more += [",".join(node["queues"]) or "-", node["app"] or "-", node["version"]] if wide else []
        table.add(
            shortened(node["name"], width(out) - OTHERS), node["node_id"], node["state"],
            ",".join(node["roles"]),
            seconds(node["heartbeat_age_seconds"]), "-" if skew is None else f"{skew} ms",
            str(node["shards"]) if leads else "-", f"{node['wheel_entries'] or 0:,}" if leads else "-",
            f"{node['running']}/{node['capacity']}" if works else "-", *more,
            note=_note(node),
            style={"live": "", "draining": "yellow"}.get(node["state"], "dim"),
        )  # fmt: skip
    table.print(out)
    if len(nodes) < len(found["nodes"]):
        gone = counted(len(found["nodes"]) - len(nodes), "node")
        write(out, f"stopped  {gone} within the last hour: --stopped shows them", "dim")
    elector = found["elector"]
    state = "ok" if elector["ok"] else "not ok"
    write(out, f"shards   {found['shards_led']} of {found['shards']} led")
    write(out, f"elector  {elector['name'] or '-'}, {state}", "" if elector["ok"] else "red")
    for error in elector["errors"]:
        write(console(error=True), error, "red")
    if every_shard:
        write(out, "")
        _show_shards(found)
    unled = found["shards"] - found["shards_led"]
    if unled:
        write(
            console(error=True),
            f"{counted(unled, 'shard')} without a leader: the jobs of these shards do not fire",
            "yellow",
        )


def _note(node: dict[str, Any]) -> str | None:
    if node["fires"] is False:
        return "it cannot fire: see its log"
    if abs(node["skew_ms"] or 0) > SKEWED_MS:
        return "its clock is wrong: correct it"
    return None


def serves_some(node: dict[str, Any]) -> bool:
    """Whether this is a worker that serves only some namespaces."""
    return "worker" in node["roles"] and "*" not in node["namespaces"]


def served_by(node: dict[str, Any]) -> str:
    """The namespaces that a worker serves."""
    return ",".join(node["namespaces"]) if "worker" in node["roles"] else "-"


def shortened(name: str, room: int) -> str:
    """A node's name, with a shorter host if it does not fit."""
    host, _, rest = name.partition(":")
    keep = max(room - len(rest) - 2, SHORTEST_HOST)
    return name if len(name) <= room or len(host) <= keep else f"{host[:keep]}…:{rest}"


def _show_shards(found: dict[str, Any]) -> None:
    table = Table("shard", "leader", "epoch", "lease left", "taken", "jobs", "wheel", elastic=("leader",))
    about = "~" if found["jobs_estimated"] else ""
    for shard in found["leaders"]:
        left = shard["lease_left_seconds"]
        lost = left is None or left <= 0
        table.add(
            str(shard["shard"]), shard["leader"] or "-", str(shard["epoch"]),
            "-" if left is None else "over" if lost else seconds(left), short_time(shard["taken_at"]),
            f"{about}{shard['jobs']:,}", f"{shard['wheel_entries'] or 0:,}", style="yellow" if lost else "",
        )  # fmt: skip
    table.print()
