"""`sexton runs`: look at runs, wait for them, cancel them, run them again."""

from __future__ import annotations

import json as json_
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton import clock
from sexton.api.runs import routes
from sexton.api.runs.routes import RunActionFilter
from sexton.cli import DONE, NOT_DONE, many
from sexton.cli.command import Ask, command
from sexton.cli.output import StatusLine, console, write, write_json
from sexton.cli.remote import (
    POLL_SECONDS,
    STYLES,
    Yes,
    first_line,
    seconds,
    short_time,
    show_fields,
    show_runs,
    took,
)
from sexton.errors import InvalidField

if TYPE_CHECKING:
    from rich.console import Console

    from sexton.cli.client import Client

Run = Annotated[str | None, Parameter(help="The run's id, r_…. Without it: all runs that match the filters.")]
ENDED = ("success", "dead", "cancelled", "expired")
# What a run waits for may end with how long that takes.
COUNTDOWN = ", in "


@command(routes.LIST_RUNS, names={"include": "--skipped"}, defaults={"limit": 20})
def list_(ask: Ask) -> int:
    """List runs: live ones first, then the latest."""
    return ask.shown(partial(_show_all, job=ask.given.get("job")))


@command(routes.GET_RUN)
def show(ask: Ask, *, follow: Annotated[bool, Parameter(help="Show its log until it ends.")] = False) -> int:
    """Show a run with its attempts, log, progress and result."""
    if not follow:
        return ask.shown(_show)
    found = ask()
    if not ask.json:
        _show(found)
    return _follow(ask.client, found, ask.json)


@command(routes.GET_RUN)
def wait(
    ask: Ask,
    *,
    timeout: Annotated[float | None, Parameter(help="Stop waiting after this many seconds.")] = None,
) -> int:
    """Wait until a run ends. Exit code 0 for success, else 1."""
    return wait_for(ask.client, ask.path[0], timeout, ask.json)


@command(routes.CANCEL_RUN, without=("include",), chosen=RunActionFilter)
def cancel(ask: Ask, run: Run = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Cancel runs; workers are asked to stop those that run.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    return many.act_on(ask, run, "cancel", _show_cancelled, many.RUNS, yes=yes, dry_run=dry_run, **ask.given)


@command(routes.REPEAT_RUN, without=("include",), chosen=RunActionFilter)
def again(
    ask: Ask,
    run: Run = None,
    /,
    *,
    dry_run: many.DryRun = False,
    after: many.After = None,
    idempotency_key: many.Key = None,
    yes: Yes = False,
) -> int:
    """Run ended runs again, with the same payloads.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    one = many.named(ask, run, many.RUNS, dry_run=dry_run, after=after, idempotency_key=idempotency_key)
    if one is not None:
        return replace(ask, path=(one,)).shown(show_started)
    if "payload" in ask.given:
        hint = "leave it out, or name the run"
        raise InvalidField("bad_value", "--payload is for one run", field="payload", hint=hint)
    return many.act(ask, "again", many.RUNS, yes=yes, dry_run=dry_run, after=after, key=idempotency_key)


def show_started(found: dict[str, Any]) -> None:
    write(console(), f"{found['run_id']} is on its way: sexton runs show {found['run_id']} --follow")


def wait_for(client: Client, run: str, timeout: float | None, as_json: bool) -> int:
    if timeout is not None and timeout < 0:
        raise InvalidField("out_of_range", f"timeout is {timeout}", field="timeout", hint="0 or more")
    end = None if timeout is None else clock.monotonic() + timeout
    found = client.ask(routes.GET_RUN, run)
    line = StatusLine(console(error=True))
    while found["status"] not in ENDED:
        if end is not None and clock.monotonic() >= end:
            line.clear()
            write(console(error=True), f"{run} has not ended: {found['status']}", "yellow")
            return NOT_DONE
        if not as_json:
            waiting, *countdown = (found["waiting_for"] or found["status"]).rsplit(COUNTDOWN, 1)
            line.show(f"{run}: {waiting}", "".join(f"{COUNTDOWN}{each}" for each in countdown))
        clock.block(POLL_SECONDS)
        found = client.ask(routes.GET_RUN, run)
    line.clear()
    if as_json:
        write_json(found)
    else:
        _show_end(console(), found)
    return DONE if found["status"] == "success" else NOT_DONE


def _follow(client: Client, found: dict[str, Any], as_json: bool) -> int:
    """Print log lines as they arrive, then how the run ended."""
    out = console()
    run = found["run_id"]
    lines = found["log"] if as_json else []
    after = found["log"][-1]["at"] if found["log"] else None
    progress = found["progress"]
    ended = False
    while lines or not ended:
        for line in lines:
            if as_json:
                write_json(line)
            else:
                _show_log_line(out, line)
        # Of a run that has ended, the log is read to its end.
        ended = found["status"] in ENDED
        if not ended:
            clock.block(POLL_SECONDS)
            found = client.ask(routes.GET_RUN, run)
        lines = client.ask(routes.GET_RUN_LOG, run, after=after)
        after = lines[-1]["at"] if lines else after
        if found["progress"] != progress and not as_json:
            progress = found["progress"]
            write(console(error=True), f"progress {_progress(progress)}", "dim")
    if as_json:
        write_json(found)
    else:
        _show_end(out, found)
    return DONE if found["status"] == "success" else NOT_DONE


def _show_all(runs: list[dict[str, Any]], job: str | None) -> None:
    if runs:
        show_runs(console(), runs, with_job=job is None)
    else:
        write(
            console(),
            "No runs." if job is None else f"No runs yet; sexton why {quote(job)} shows what is due",
        )


def _show_cancelled(found: dict[str, Any]) -> None:
    told = {"cancelled": "is cancelled", "requested": "is asked to stop"}
    write(console(), f"{found['run_id']} {told[found['outcome']]}")


def _show(found: dict[str, Any]) -> None:
    out = console()
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
