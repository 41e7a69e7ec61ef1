"""`make chaos`: every scenario with the default settings and more jobs, as a table.

    python -m tests.faults.chaos [SCENARIO …]

Rows are printed as they come; all of it is written to build/chaos.md. It ends with 1 if anything was lost,
doubled, early or left over, or a target was missed.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.faults import (  # noqa: F401 - they register
    account_scenarios,
    campaign_scenarios,
    content_scenarios,
    database_scenarios,
    handler_scenarios,
    leader_scenarios,
    release_scenarios,
)
from tests.faults.fork_server import ForkServer, fork_server
from tests.faults.harness import LONG, Cluster
from tests.faults.measures import recovery_seconds, throughput_seconds, worst_lateness
from tests.faults.scenarios import SCENARIOS, play
from tests.faults.servers import Server

OUTPUT = Path("build/chaos.md")
HEAD = """\
| fault | occurrences | skipped | lost | doubled | early | worst lateness | recovery |
|---|---:|---:|---:|---:|---:|---:|---:|"""
TARGETS_HEAD = """\
| target | at most | measured |
|---|---:|---:|"""


class Chaos:
    """Plays scenarios one after the other, and keeps what was measured."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.targets: list[str] = []
        self.failed = False

    async def run(self, names: list[str]) -> None:
        print(HEAD)
        with (
            tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as data,
            fork_server() as forking,
        ):
            server = Server(Path(data) / "server")
            await server.start()
            try:
                for name in names:
                    await self._play(name, server, forking)
            finally:
                await server.stop()

    async def _play(self, name: str, server: Server, forking: ForkServer) -> None:
        fault, began = SCENARIOS[name].fault, time.monotonic()
        try:
            report, cluster = await play(name, server, forking, LONG)
        except AssertionError as error:
            self.failed = True
            self._row(f"| {fault} | failed: {str(error).splitlines()[0]} |")
            print(error, file=sys.stderr)
            return
        except Exception as error:  # the others are worth playing all the same
            self.failed = True
            self._row(f"| {fault} | failed: {error!r} |")
            traceback.print_exc()
            return
        finally:
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        recovery = recovery_seconds(cluster.ledger, cluster.marks)
        fired, began = worst_lateness(cluster.ledger, cluster.marks[0])
        skipped = sum(report.skipped.values())
        self._row(
            f"| {fault} | {report.expected:,} | {skipped:,} | {len(report.lost)} | {len(report.doubled)} "
            f"| {len(report.early)} | {began:.1f} s | {recovery:.1f} s |"
        )
        self._measure(name, fired, cluster)

    def _measure(self, name: str, fired: float, cluster: Cluster) -> None:
        """The figures that have a target."""
        if name == "leader_killed":
            self._target(
                "`kill -9` of a leader: the first due job of each of its shards fires",
                5.0,
                cluster.figures["failover"],
            )
        elif name == "leader_leaves":
            self._target("SIGTERM of a leader: the worst lateness of a firing", 1.0, fired)
        elif name == "crashing_handlers":
            self._target(
                "handlers that end their process: the longest pause of the healthy ones",
                10.0,
                cluster.figures["pause"],
            )
        elif name == "large_catch_up":
            self._target("a day missed by 200 one-second jobs: the worst lateness of the others", 2.0, fired)
            self._target("resuming a job paused for 31 days: the answer", 2.0, cluster.figures["resume"])
        elif name == "transaction_left_open":
            self._target(f"{SCENARIOS[name].fault}: the worst lateness of a firing", 1.0, fired)
        elif name.startswith("postgres_"):
            seconds = throughput_seconds(cluster.ledger, cluster.marks)
            self._target(f"{SCENARIOS[name].fault}: 95 % of the throughput again", 30.0, seconds)

    def _target(self, what: str, most: float, measured: float) -> None:
        missed = measured > most
        self.failed |= missed
        self.targets.append(f"| {what} | {most:g} s | {measured:.2f} s{' **missed**' if missed else ''} |")

    def _row(self, row: str) -> None:
        self.rows.append(row)
        print(row, flush=True)

    def markdown(self, minutes: float) -> str:
        machine = f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        load = f"{LONG.jobs} jobs every 2 s on {LONG.shards} shards, default settings"
        said = f"{load}; {minutes:.0f} minutes; {machine}."
        return "\n".join([said, "", HEAD, *self.rows, "", TARGETS_HEAD, *self.targets, ""])


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        print(f"chaos: no scenario is called {unknown[0]}; there are {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    chaos, began = Chaos(), time.monotonic()
    asyncio.run(chaos.run(names or list(SCENARIOS)))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(chaos.markdown((time.monotonic() - began) / 60), encoding="utf-8")
    print("\n".join(["", TARGETS_HEAD, *chaos.targets, "", f"written to {OUTPUT}"]))
    return int(chaos.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
