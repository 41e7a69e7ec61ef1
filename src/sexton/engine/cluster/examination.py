"""What `sexton doctor` and the console examine: the facts of the database, the bounds that follow from the
settings, and what to fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine.cluster.egress import decided_egress
from sexton.engine.cluster.status import get_cluster
from sexton.postgres.database import Database
from sexton.postgres.migrate import pending
from sexton.postgres.transaction import Context
from sexton.printable import all_counted, counted
from sexton.refusal import about
from sexton.schedules.zone import zone_version
from sexton.security.audit_chain import read_head
from sexton.security.secrets import key_source, unreadable
from sexton.targets.table import how_to_serve

# A takeover waits half a second for the old leader's open firing before it ends that backend.
TAKEOVER_SECONDS = 0.5
CLOCK_SECONDS = 0.5
PARTITION_DAYS = 3


class Finding(msgspec.Struct, frozen=True):
    """Something to fix."""

    what: Annotated[str, about("What is wrong.")]
    fix: Annotated[str, about("What to do about it.")]
    serious: Annotated[bool, about("Whether Sexton may break a promise, such as to fire on time.")]


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    facts: Annotated[dict[str, str], about("The database, and what is in it.")]
    bounds: Annotated[dict[str, str], about("How late things can be after a failure, from the settings.")]
    findings: Annotated[list[Finding], about("What to fix.")]


async def examine(database: Database, settings: Settings, *, naming: bool = True) -> Examination:
    """Look at everything. `naming`: whether secrets may be named."""
    facts: dict[str, str] = {}
    findings: list[Finding] = []
    before = clock.now()
    row = await database.fetchrow("reading/examine_server")
    after = clock.now()
    assert row is not None
    offset = (row["now"] - before - (after - before) / 2).total_seconds()
    facts["PostgreSQL"] = row["version"]
    if database.pooled:
        facts["pooler"] = "yes: no notifications, no session locks"
    facts["database size"] = row["size"]
    facts["connections"] = f"{row['connections']} of {row['max_connections']}"
    facts["clock offset"] = f"{offset * 1000:+.0f} ms"
    facts["round trip"] = f"{(after - before).total_seconds() * 1000:.1f} ms"
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        facts[name] = row[name]
    findings += _judge_server(row, offset)
    todo = await pending(database)
    facts["migrations"] = f"{len(todo)} to do" if todo else "up to date"
    if todo:
        findings.append(Finding("the database is not migrated: nodes refuse it", "run: sexton migrate", True))
        return Examination(facts=facts, bounds=_bounds(settings), findings=findings)
    await _examine_system(database, facts, findings)
    if lost := await unreadable(Context(database), key_source(settings)):
        what = f"secrets that cannot be read with the key here: {', '.join(lost) if naming else len(lost)}"
        fix = "set SEXTON_SECRET_KEY as workers have it, or put the key file back"
        findings.append(Finding(what, f"{fix}; if it is lost: sexton secret rekey --forget", True))
    return Examination(facts=facts, bounds=_bounds(settings), findings=findings)


def _judge_server(row: Any, offset: float) -> Iterator[Finding]:
    if row["fsync"] != "on" or row["full_page_writes"] != "on":
        what = "fsync or full_page_writes is off: a crash of the machine can destroy the database"
        yield Finding(what, "set both to on in postgresql.conf", True)
    if row["synchronous_commit"] == "off":
        what = "synchronous_commit is off: what was acknowledged can be lost in a crash"
        yield Finding(what, "set it to on, or accept that the last half second may be lost", True)
    if row["in_recovery"]:
        yield Finding("this server is a replica", "set database_url to the primary", True)
    if abs(offset) > CLOCK_SECONDS:
        what = f"the clock of this machine and that of the database differ by {abs(offset):.1f} s"
        fix = "firing follows the database's clock; run a time service (chrony, systemd-timesyncd) on both"
        yield Finding(what, fix, False)
    if row["connections"] > 0.8 * row["max_connections"]:
        yield Finding("most of the connections are in use", "raise max_connections, or use a pooler", False)
    if row["autovacuum"] != "on":
        yield Finding("autovacuum is off: the hot tables grow without bound", "set autovacuum to on", True)


async def _examine_system(database: Database, facts: dict[str, str], findings: list[Finding]) -> None:
    cluster = await get_cluster(Context(database))
    live = [node for node in cluster.nodes if node.state == "live"]
    schedulers = sum("scheduler" in node.roles for node in live)
    workers = sum("worker" in node.roles for node in live)
    facts["nodes"] = f"{schedulers} scheduling, {workers} working"
    facts["shards led"] = f"{cluster.shards_led} of {cluster.shards}"
    facts["jobs"] = all_counted(cluster.counts.jobs)
    facts["dead letters"] = f"{cluster.counts.dead:,}"
    facts["private addresses"] = await decided_egress(database) or "not decided yet (egress_private)"
    days = await database.fetchval("reading/examine_partitions")
    facts["history"] = "no partitions" if days is None else f"partitions for {counted(days, 'day')} ahead"
    chain = await read_head(Context(database))
    facts["audit"] = f"{counted(chain['sequence'] - chain['removed_sequence'], 'row')} in the chain"
    if chain["late"]:
        waiting = counted(chain["late"], "entry of the audit waits", "entries of the audit wait")
        what = f"{waiting} to be sealed"
        fix = "check that a scheduler runs, and look for the sealer in its log"
        findings.append(Finding(what, fix, False))
    if cluster.counts.jobs and not schedulers:
        findings.append(Finding("no scheduler is running: nothing fires", "start one: sexton up", True))
    elif schedulers and cluster.shards_led < cluster.shards:
        what = f"{counted(cluster.shards - cluster.shards_led, 'shard')} without a leader"
        fix = "they are taken within the bound above; if they stay so, look at the schedulers' logs"
        findings.append(Finding(what, fix, True))
    if cluster.counts.jobs and not workers:
        findings.append(Finding("no worker is running: runs wait", "start one: sexton up", True))
    findings += await _judge_schedules(database, facts)
    findings += [
        Finding(
            f"{counted(lane.waiting, 'run')} in queue {lane.queue} waiting: {lane.reason}",
            "start a worker for them, or edit the target of their jobs"
            if lane.target == "handler"
            else how_to_serve(lane.target, lane.handler or ""),
            True,
        )
        for lane in cluster.backlog
        if not lane.served
    ]
    if dead := cluster.counts.dead:
        findings.append(Finding(counted(dead, "dead letter"), "see: sexton dead list --groups", False))
    if days is None or days < PARTITION_DAYS:
        what, fix = "history has no partitions for the next days", "a running node makes them: sexton up"
        findings.append(Finding(what, fix, False))
    if len({node.version for node in live}) > 1:
        findings.append(Finding("the nodes have different versions", "upgrade them all", False))


async def _judge_schedules(database: Database, facts: dict[str, str]) -> list[Finding]:
    """Jobs that cannot be planned, and zone databases that differ."""
    found = []
    problems = await database.fetchrow("reading/examine_problems")
    zones = await database.fetchrow("reading/examine_zones")
    assert problems is not None
    assert zones is not None
    mine, planned = zone_version(), zones["version"]
    facts["zone database"] = f"{mine} here, {planned or mine} in the database"
    if problems["problems"]:
        jobs = counted(problems["problems"], "job is", "jobs are")
        what = f"{jobs} set aside, because the schedule cannot be computed: {'; '.join(problems['examples'])}"
        fix = "edit the schedule or the time zone, or upgrade tzdata; see: sexton why JOB"
        found.append(Finding(what, fix, True))
    behind = list(zones["behind"])
    if planned is not None and mine < planned and not behind:
        behind = ["this machine"]
    if behind:
        what = f"due times were planned with the zone database {planned}, but older ones are in use"
        fix = "upgrade on these: pip install -U tzdata, and restart"
        found.append(Finding(f"{what}: {', '.join(behind)}", fix, True))
    if zones["moved"]:
        what = f"the rules of zones have changed, and due times with them: {', '.join(zones['moved'])}"
        fix = "see: sexton audit list --action zone.replanned; check that the new times are right"
        found.append(Finding(what, fix, False))
    return found


def _bounds(settings: Settings) -> dict[str, str]:
    """How late things can be after a failure, from the settings."""
    leader = settings.lease_seconds + settings.renew_seconds + TAKEOVER_SECONDS
    worker = settings.worker_lease_seconds + settings.sweep_seconds
    return {
        "late at most, if a scheduler dies": f"{leader:g} s (lease {settings.lease_seconds:g} s)",
        "taken over, if a worker dies": f"{worker:g} s (lease {settings.worker_lease_seconds:g} s)",
        "noticed without notifications": f"{settings.poll_seconds:g} s",
    }
