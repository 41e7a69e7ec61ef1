"""What `sexton jobs` shows: tables, sentences, and the runs of a job as they end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sexton import clock
from sexton.api.jobs import routes
from sexton.cli import DONE
from sexton.cli.output import Table, console, cut, paragraph, write, write_json
from sexton.cli.remote import POLL_SECONDS, STYLES, note_of, seconds, short_time, took, warn
from sexton.errors import Unavailable
from sexton.printable import counted

if TYPE_CHECKING:
    from rich.console import Console

    from sexton.cli.client import Client


def show_made(job: dict[str, Any]) -> None:
    write(
        console(), f"{job['name']} ({job['job_id']}) fires next at {short_time(job['next_run_at'])}", "bold"
    )
    warn(job)


def show_all(jobs: list[dict[str, Any]], *, some: bool) -> None:
    none = "No jobs. Make one: sexton jobs add hello --schedule 'every 10s' --handler sexton.log"
    table = Table("name", "id", "status", "schedule", "next", "last", elastic=("name", "schedule"))
    for job in jobs:
        schedule = job["schedule"].replace("\n", " ")
        table.add(
            job["name"], job["job_id"], job["status"], schedule,
            short_time(job["next_run_at"]), job["last_outcome"] or "-",
            note=job.get("problem") and f"set aside: {job['problem']}",
            style="" if job["status"] == "active" else STYLES.get(job["status"], ""),
        )  # fmt: skip
    table.print(none="No such jobs." if some else none)


def show_next(found: dict[str, Any]) -> None:
    out = console()
    paragraph(out, found["explanation"], "bold")
    warn(found)
    if not found["occurrences"]:
        write(out, "It does not fire again.")
        return
    table = Table("local time", "UTC", "")
    for each in found["occurrences"]:
        style = "dim" if each["skipped"] else ""
        table.add(
            each["local"], "-" if each["skipped"] else each["scheduled_at"], each["skipped"] or "",
            note=each["note"], style=style,
        )  # fmt: skip
    table.print(out)


def show_paused(found: dict[str, Any]) -> None:
    until = f" until {short_time(found['paused_until'])}" if found["paused_until"] else ""
    write(console(), f"{found['name']} is paused{until}")
    warn(found)


def show_resumed(found: dict[str, Any]) -> None:
    write(console(), f"{found['name']} fires next at {short_time(found['next_run_at'])}")
    warn(found)


def show_restored(found: dict[str, Any]) -> None:
    if found["next_run_at"] is None:
        write(console(), f"{found['name']} is {found['status']} again")
    else:
        show_resumed(found)


def show_rescheduled(found: dict[str, Any]) -> None:
    origin = f" instead of {short_time(found['moved_from'])}" if found["moved_from"] else ""
    write(console(), f"{found['name']} fires next at {short_time(found['next_run_at'])}{origin}")
    warn(found)


def show_backfill(found: dict[str, Any]) -> None:
    out = console()
    for at in found["scheduled_at"][:20]:
        write(out, at)
    if len(found["scheduled_at"]) > 20:
        write(out, f"… and {len(found['scheduled_at']) - 20} more", "dim")
    runs = counted(len(found["scheduled_at"]), "run")
    verb = "would be made" if found["dry_run"] else "on the way"
    left = (
        f"; {len(found['left_out'])} left out, which have a run or will fire anyway"
        if found["left_out"]
        else ""
    )
    write(out, f"{runs} {verb}{left}")
    warn(found)


def follow_runs(client: Client, job: dict[str, Any], as_json: bool) -> int:
    """Show runs as they end, until the job is over, or until Ctrl-C."""
    out = console()
    seen: set[str] = set()
    while True:
        try:
            # First the status: the runs of a job that was completed before they are asked for are all there.
            status = client.ask(routes.GET_JOB, job["job_id"])["status"]
            runs = client.ask(routes.LIST_JOB_RUNS, job["job_id"], limit=100)
        except Unavailable as error:
            write(console(error=True), f"{error.message}; trying again", "yellow")
            clock.block(4 * POLL_SECONDS)
            continue
        live = [run for run in runs if run["finished_at"] is None]
        for run in sorted(runs, key=lambda each: each["finished_at"] or ""):
            if run["finished_at"] is not None and run["run_id"] not in seen:
                seen.add(run["run_id"])
                _show_line(out, run, as_json)
        if status in ("completed", "deleted") and not live:
            return DONE
        clock.block(POLL_SECONDS)


def _show_line(out: Console, run: dict[str, Any], as_json: bool) -> None:
    if as_json:
        write_json(run)
        return
    result = "" if run["result"] is None else f"  {cut(json.dumps(run['result'], ensure_ascii=False), 60)}"
    note = f"  {note_of(run)}" if note_of(run) else ""
    text = f"{short_time(run['scheduled_at'])}  {run['run_id']}  {run['status']}"
    text += f"  late {seconds(run['late_seconds'])}"
    write(out, f"{text}  took {seconds(took(run))}{result}{note}", STYLES.get(run["status"], ""))
