"""`sexton runs`: look at runs, wait for them, cancel them."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton import clock
from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import place
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import (
    POLL_SECONDS,
    STYLES,
    Json,
    RunId,
    connect,
    first_line,
    listed,
    seconds,
    short_time,
    show_fields,
    show_runs,
    took,
)  # fmt: skip
from sexton.errors import InvalidField

if TYPE_CHECKING:
    from rich.console import Console

    from sexton.cli.client import Client

ENDED = ("success", "dead", "cancelled", "expired")


def list_(
    *,
    job: Annotated[str | None, Parameter(help="Only runs of this job: its name or id.")] = None,
    status: Annotated[str | None, Parameter(help="Only these, with commas: running,dead …")] = None,
    trigger: Annotated[str | None, Parameter(help="Only these, with commas: manual,backfill …")] = None,
    skipped: Annotated[bool, Parameter(help="List skipped occurrences too.")] = False,
    limit: Annotated[int, Parameter(help="At most so many. Default: 20.")] = 20,
    json: Json = False,
) -> int:
    """List runs: live ones first, then the latest."""
    path = "/runs" if job is None else f"{place('jobs', job)}/runs"
    include = "skipped" if skipped else None
    with connect() as client:
        narrow = "--status or --trigger" if job else "--job, --status or --trigger"
        runs = listed(client, path, limit, narrow, status=status, trigger=trigger, include=include)
    if json:
        write_json(runs)
    elif runs:
        show_runs(console(), runs, with_job=job is None)
    else:
        write(console(), "No runs." if job is None else f"No runs yet; sexton why {job} says what is to come")
    return DONE


def show(
    run: RunId,
    /,
    *,
    follow: Annotated[bool, Parameter(help="Show its log until it ends.")] = False,
    json: Json = False,
) -> int:
    """Show a run with its attempts, log, progress and result."""
    with connect() as client:
        found = client.get(place("runs", run))
        if json and not follow:
            write_json(found)
            return DONE
        if not json:
            _show(console(), found)
        return _follow(client, found, json) if follow else DONE


def wait(
    run: RunId,
    /,
    *,
    timeout: Annotated[float | None, Parameter(help="Give up after so many seconds.")] = None,
    json: Json = False,
) -> int:
    """Wait for the end of a run: 0 if it is a success, 1 if not."""
    with connect() as client:
        return wait_for(client, run, timeout, json)


def cancel(
    run: RunId,
    /,
    *,
    reason: Annotated[str | None, Parameter(help="Kept with the run.")] = None,
    json: Json = False,
) -> int:
    """Cancel a run; if it runs, its worker is asked to stop."""
    with connect() as client:
        found = client.post(f"{place('runs', run)}/cancel", {"reason": reason})
    if json:
        write_json(found)
    else:
        told = {"cancelled": "is cancelled", "requested": "is asked to stop"}
        write(console(), f"{run} {told[found['outcome']]}")
    return DONE


def wait_for(client: Client, run: str, timeout: float | None, as_json: bool) -> int:
    if timeout is not None and timeout < 0:
        raise InvalidField("out_of_range", f"timeout is {timeout}", field="timeout", hint="0 or more")
    end = None if timeout is None else clock.monotonic() + timeout
    found = client.get(place("runs", run))
    told: str | None = None
    while found["status"] not in ENDED:
        if end is not None and clock.monotonic() >= end:
            write(console(error=True), f"{run} has not ended: {found['status']}", "yellow")
            return NOT_DONE
        state = found["waiting_for"] or found["status"]
        if state != told and not as_json:
            write(console(error=True), f"{run}: {state}", "dim")
            told = state
        clock.block(POLL_SECONDS)
        found = client.get(place("runs", run))
    if as_json:
        write_json(found)
    else:
        _show_end(console(), found)
    return DONE if found["status"] == "success" else NOT_DONE


def _follow(client: Client, found: dict[str, Any], as_json: bool) -> int:
    """Log lines as they come, then how it ended."""
    out = console()
    path = place("runs", found["run_id"])
    lines = found["log"] if as_json else []
    after = found["log"][-1]["at"] if found["log"] else None
    progress = found["progress"]
    while True:
        for line in lines:
            if as_json:
                write_json(line)
            else:
                _show_log_line(out, line)
        if found["status"] in ENDED:
            break
        clock.block(POLL_SECONDS)
        found = client.get(path)
        lines = client.get(f"{path}/log", after=after)
        after = lines[-1]["at"] if lines else after
        if found["progress"] != progress and not as_json:
            progress = found["progress"]
            write(console(error=True), f"progress {_progress(progress)}", "dim")
    if as_json:
        write_json(found)
    else:
        _show_end(out, found)
    return DONE if found["status"] == "success" else NOT_DONE


def _show(out: Console, found: dict[str, Any]) -> None:
    names = (
        "run_id", "job_name", "job_id", "status", "waiting_for", "trigger", "missed", "scheduled_at",
        "started_at", "finished_at", "next_attempt_at", "worker_id", "lease_until", "idempotency_key",
        "parent_run", "reason", "payload", "result", "error",
    )  # fmt: skip
    fields = [(name, found[name]) for name in names if found[name] is not False]
    fields.insert(9, ("late", seconds(found["late_seconds"])))
    if found["progress"]:
        fields.append(("progress", _progress(found["progress"])))
    show_fields(out, fields)
    if len(found["attempts"]) > 1 or any(each["error"] for each in found["attempts"]):
        write(out, "")
        for each in found["attempts"]:
            error = f"  {first_line(each['error'])}" if each["error"] else ""
            write(
                out, f"attempt {each['attempt']}  {short_time(each['started_at'])}  {each['outcome']}{error}"
            )
    if found["log"]:
        write(out, "")
        for line in found["log"]:
            _show_log_line(out, line)


def _show_log_line(out: Console, line: dict[str, Any]) -> None:
    style = {"error": "red", "warning": "yellow", "debug": "dim"}.get(line["level"], "")
    write(out, f"{short_time(line['at'])}  {line['message']}", style)


def _show_end(out: Console, found: dict[str, Any]) -> None:
    result = "" if found["result"] is None else f": {json_.dumps(found['result'], ensure_ascii=False)}"
    error = f": {first_line(found['error'])}" if found["error"] else ""
    text = f"{found['run_id']} {found['status']} after {seconds(took(found))}{result}{error}"
    write(out, text, STYLES.get(found["status"], ""))


def _progress(progress: Any) -> str:
    if not isinstance(progress, dict):
        return str(progress)
    fraction = progress.get("fraction")
    share = f"{fraction:.0%} " if isinstance(fraction, int | float) else ""
    return f"{share}{progress.get('text') or ''}".strip()
