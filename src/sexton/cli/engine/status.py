"""`sexton status`: the state of the system at a glance."""

from __future__ import annotations

from typing import Any

from sexton.api.engine import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.engine.cluster import served_by, serves_some
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Json, connect, moment, short_time
from sexton.printable import all_counted, counted


def status(*, json: Json = False) -> int:
    """Show the state: nodes, shards, waiting runs, dead letters.

    Ends with 1 if something needs attention.
    """
    with connect() as client:
        cluster = client.ask(routes.GET_CLUSTER)
        ready = client.request("GET", routes.READYZ.path, accept=(503,))[0]
        url = client.url
    troubles = _troubles(cluster, ready)
    if json:
        write_json({"url": url, **cluster, "ready": ready, "troubles": troubles})
        return NOT_DONE if troubles else DONE
    out = console()
    write(out, f"{url}  {ready['status']}", "green" if ready["status"] == "ready" else "red")
    shown = [node for node in cluster["nodes"] if node["state"] != "stopped"]
    apart = ("namespaces",) if any(map(serves_some, shown)) else ()
    headings = ("node", "state", "roles", "shards", "running", *apart, "heard of", "version")
    table = Table(*headings, elastic=("node", "roles", *apart), spare=("version",))
    for node in shown:
        table.add(
            node["name"], node["state"], ",".join(node["roles"]), str(node["shards"]),
            f"{node['running']}/{node['capacity']}" if "worker" in node["roles"] else "-",
            *([served_by(node)] if apart else []),
            short_time(node["heartbeat_at"]), node["version"], style="" if node["state"] == "live" else "dim",
        )  # fmt: skip
    if shown:
        table.print(out)
    counts = cluster["counts"]
    write(out, f"jobs          {all_counted(counts['jobs'])}")
    write(out, f"live runs     {all_counted(counts['runs'])}")
    write(out, f"dead letters  {counts['dead']:,}")
    for trouble in (*troubles, *ready["warnings"]):
        write(console(error=True), trouble, "yellow")
    return NOT_DONE if troubles else DONE


def _troubles(cluster: dict[str, Any], ready: dict[str, Any]) -> list[str]:
    found = []
    if ready["database"] != "reachable":
        found.append(f"the database: {ready['database']}")
    found += [f"the loop {loop['name']} does not tick" for loop in ready["loops"] if not loop["healthy"]]
    if cluster["shards_led"] < cluster["shards"]:
        unled = cluster["shards"] - cluster["shards_led"]
        have = "has" if unled == 1 else "have"
        found.append(f"{unled} of {cluster['shards']} shards {have} no scheduler: their jobs do not fire")
    if not any("worker" in node["roles"] and node["state"] == "live" for node in cluster["nodes"]):
        found.append("no worker is running: runs wait")
    for lane in cluster["backlog"]:
        if not lane["served"]:
            where = "" if lane["namespace"] == "default" else f" of {lane['namespace']}"
            found.append(
                f"{counted(lane['waiting'], 'run')} in queue {lane['queue']}{where} waiting: {lane['reason']}"
            )
    due, now = moment(cluster["oldest_due_at"]), moment(cluster["at"])
    if due is not None and now is not None and (now - due).total_seconds() > 10:
        found.append(f"a job has been due since {short_time(cluster['oldest_due_at'])} and has not fired")
    return found
