"""`sexton jobs`: make, look at and change jobs."""

from __future__ import annotations

import json as json_
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sexton import clock
from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import place
from sexton.cli.output import RefusedError, Table, console, cut, paragraph, write, write_json
from sexton.cli.remote import (
    POLL_SECONDS,
    STYLES,
    Json,
    Ref,
    Yes,
    confirm,
    connect,
    instant,
    listed,
    note_of,
    read_json,
    seconds,
    short_time,
    show_fields,
    took,
)  # fmt: skip
from sexton.errors import InvalidField, ScheduleError, Unavailable

if TYPE_CHECKING:
    from rich.console import Console

    from sexton.cli.client import Client


def about(text: str, **more: Any) -> Parameter:
    return Parameter(help=text, **more)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fields:
    """Every field of a job as an option."""

    schedule: Annotated[str | None, about("Cron, RRULE, interval such as 'every 15m', or an instant.")] = None
    timezone: Annotated[str | None, about("Zone of the wall clock. Default: UTC.")] = None
    kind: Annotated[
        Literal["cron", "recurrence", "interval", "once"] | None, about("What the schedule is.")
    ] = None
    anchor: Annotated[str | None, about("Where intervals and recurrences count from.")] = None
    gap: Annotated[Literal["after", "shift", "skip"] | None, about("A local time that does not exist.")] = (
        None
    )
    fold: Annotated[Literal["first", "second", "both"] | None, about("A local time that comes twice.")] = None
    starts_at: Annotated[str | None, about("Nothing fires before this instant.")] = None
    ends_at: Annotated[str | None, about("Nothing fires after this instant.")] = None
    exclude: Annotated[tuple[str, ...], about("A date or range A/B without firing. Repeatable.")] = ()
    target: Annotated[str | None, about("JSON of any target, or @FILE.")] = None
    handler: Annotated[str | None, about("The handler that runs it. Default: the job's name.")] = None
    http: Annotated[str | None, about("Send an HTTP request to this URL instead.")] = None
    http_method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None, about("Default: POST.")
    ] = None
    http_header: Annotated[tuple[str, ...], about("'Name: value'. Repeatable.")] = ()
    http_body: Annotated[str | None, about("Template of the body. Default: the payload.")] = None
    http_success: Annotated[tuple[int, ...], about("A status that is a success. Default: 2xx.")] = ()
    payload: Annotated[str | None, about("JSON for the handler, or @FILE.", allow_leading_hyphen=True)] = None
    queue: Annotated[str | None, about("Which workers may take it.")] = None
    priority: Annotated[int | None, about("0 (first) to 3 (last).")] = None
    max_retries: Annotated[int | None, about("Tries after the first. Default: 3.")] = None
    retry_backoff: Annotated[
        Literal["fixed", "linear", "exponential"] | None, about("How the wait grows. Default: exponential.")
    ] = None
    retry_base_seconds: Annotated[int | None, about("Wait before the second try. Default: 60.")] = None
    retry_max_seconds: Annotated[int | None, about("Longest wait. Default: 3600.")] = None
    retry_jitter: Annotated[Literal["none", "full"] | None, about("Spread the waits. Default: none.")] = None
    timeout_seconds: Annotated[int | None, about("How long a try may take. Default: 300.")] = None
    missed_window: Annotated[
        Literal["SKIP", "RUN_ONCE", "RUN_ALL"] | None, about("What to do with missed times.")
    ] = None
    max_missed: Annotated[int | None, about("How many RUN_ALL runs. Default: 100.")] = None
    catch_up_seconds: Annotated[int | None, about("Missed by more is not run.")] = None
    grace_seconds: Annotated[int | None, about("Up to this late is not missed. Default: 60.")] = None
    overlap: Annotated[
        Literal["ALLOW", "SKIP", "QUEUE_ONE", "CANCEL_RUNNING"] | None, about("If the run before still runs.")
    ] = None
    jitter_seconds: Annotated[int | None, about("Spread by a fixed offset within this.")] = None
    expires_seconds: Annotated[int | None, about("Not worth starting after this.")] = None
    max_runs: Annotated[int | None, about("How often it fires in all.")] = None
    idempotency_key_template: Annotated[str | None, about("Such as 'report-{{week}}'.")] = None
    concurrency_key: Annotated[str | None, about("Such as '{{payload.customer}}'.")] = None
    dead_letter_target: Annotated[str | None, about("JSON of a target for dead letters, or @FILE.")] = None
    keep_completed_seconds: Annotated[int | None, about("How long a done one-off is kept.")] = None
    label: Annotated[tuple[str, ...], about("name=value. Repeatable.")] = ()
    description: Annotated[str | None, about("For people.")] = None
    owner: Annotated[str | None, about("Whom to ask.")] = None


NOTHING = Fields()
JSON = ("target", "payload", "dead_letter_target")
PLAIN = tuple(
    field.name
    for field in fields(Fields)
    if not field.name.startswith("http") and field.name not in ("handler", "label", "exclude", *JSON)
)


def add(
    name: Annotated[str | None, about("The job's name.")] = None,
    /,
    *,
    options: Fields = NOTHING,
    file: Annotated[
        Path | None,
        about("Take the job from a JSON file; - is the standard input.", allow_leading_hyphen=True),
    ] = None,
    replace: Annotated[bool, about("Replace a job of this name.")] = False,
    follow: Annotated[bool, about("Then show its runs as they end, until Ctrl-C.")] = False,
    json: Json = False,
) -> int:
    """Make a job.

    Every field of the API is an option, or comes from --file; options win.
    """
    spec = {**_from_file(file), **_from_options(options)}
    if name is not None:
        spec["name"] = name
    if "name" not in spec:
        raise InvalidField(
            "missing_field", "the job has no name", field="name", hint="sexton jobs add NAME --schedule …"
        )
    if "schedule" not in spec:
        raise InvalidField(
            "missing_field", "the job has no schedule", field="schedule", hint="add --schedule 'every 10s'"
        )
    with connect() as client:
        try:
            if replace:
                job = client.put(place("jobs", "by-name", spec["name"]), spec)
            else:
                job = client.post("/jobs", spec)
        except ScheduleError as error:
            raise RefusedError(error, spec["schedule"]) from error
        if json:
            write_json(job)
        else:
            _show_made(job)
        return _follow(client, job, json) if follow else DONE


def list_(
    *,
    status: Annotated[
        Literal["active", "paused", "completed", "deleted"] | None, about("Only jobs in this status.")
    ] = None,
    label: Annotated[str | None, about("Only jobs with this label: name or name=value.")] = None,
    name: Annotated[str | None, about("Only this name, or a beginning: 'report-*'.")] = None,
    target: Annotated[str | None, about("Only http, message, … or a handler's name.")] = None,
    problem: Annotated[bool, about("Only those that are set aside, with the reason.", negative="")] = False,
    limit: Annotated[int, about("At most so many. Default: 100.")] = 100,
    json: Json = False,
) -> int:
    """List jobs."""
    with connect() as client:
        jobs = listed(
            client, "/jobs", limit, "--status, --label, --name or --target",
            status=status, label=label, name=name, target=target, problem=problem or None,
        )  # fmt: skip
    if json:
        write_json(jobs)
        return DONE
    out = console()
    if not jobs:
        some = any((status, label, name, target, problem))
        none = "No jobs. Make one: sexton jobs add hello --schedule 'every 10s' --handler sexton.log"
        write(out, "No such jobs." if some else none)
        return DONE
    table = Table("name", "id", "status", "schedule", "next", "last", elastic=("name", "schedule"))
    for job in jobs:
        schedule = job["schedule"].replace("\n", " ")
        table.add(
            job["name"], job["job_id"], job["status"], schedule,
            short_time(job["next_run_at"]), job["last_outcome"] or "-",
            note=job.get("problem") and f"set aside: {job['problem']}",
            style="" if job["status"] == "active" else STYLES.get(job["status"], ""),
        )  # fmt: skip
    table.print(out)
    return DONE


def show(job: Ref, /, *, json: Json = False) -> int:
    """Show a job with all its fields."""
    with connect() as client:
        found = client.get(place("jobs", job))
    if json:
        write_json(found)
    else:
        show_fields(console(), [(name, value) for name, value in found.items() if name != "warnings"])
        _warn(found)
    return DONE


def next_(
    job: Ref, /, *, count: Annotated[int, about("How many. Default: 5.")] = 5, json: Json = False
) -> int:
    """Show when a job fires next."""
    with connect() as client:
        found = client.get(f"{place('jobs', job)}/preview", count=count)
    if json:
        write_json(found)
        return DONE
    out = console()
    paragraph(out, found["explanation"], "bold")
    if not found["occurrences"]:
        write(out, "It does not fire any more.")
        return DONE
    table = Table("local time", "UTC", "")
    for each in found["occurrences"]:
        style = "dim" if each["skipped"] else ""
        table.add(
            each["local"], "-" if each["skipped"] else each["scheduled_at"], each["skipped"] or "",
            note=each["note"], style=style,
        )  # fmt: skip
    table.print(out)
    return DONE


def pause(
    job: Ref,
    /,
    *,
    reason: Annotated[str | None, about("Shown with the job.")] = None,
    until: Annotated[
        str | None, about("When it goes on by itself: an instant, or +2h.", allow_leading_hyphen=True)
    ] = None,
    json: Json = False,
) -> int:
    """Pause a job: nothing fires until it is resumed."""
    body = {"reason": reason, "until": None if until is None else instant(until, "until")}
    with connect() as client:
        found = client.post(f"{place('jobs', job)}/pause", body)
    until_text = f" until {short_time(found['paused_until'])}" if found["paused_until"] else ""
    return _done(found, f"{found['name']} is paused{until_text}", json)


def resume(job: Ref, /, *, json: Json = False) -> int:
    """Resume a paused job."""
    with connect() as client:
        found = client.post(f"{place('jobs', job)}/resume")
    return _done(found, f"{found['name']} fires next at {short_time(found['next_run_at'])}", json)


def run(
    job: Ref,
    /,
    *,
    payload: Annotated[str | None, about("JSON instead of the job's own payload, or @FILE.")] = None,
    wait: Annotated[bool, about("Wait for its end.")] = False,
    json: Json = False,
) -> int:
    """Run a job now, beside its schedule."""
    from sexton.cli.runs import wait_for

    body = {} if payload is None else {"payload": _json_of(payload, "payload")}
    with connect() as client:
        made = client.post(f"{place('jobs', job)}/run", body)
        if wait:
            return wait_for(client, made["run_id"], None, json)
    return _done(made, f"{made['run_id']} is on its way: sexton runs show {made['run_id']} --follow", json)


def backfill(
    job: Ref,
    /,
    *,
    from_: Annotated[
        str, about("Start of the range: an instant, or -2d.", name="--from", allow_leading_hyphen=True)
    ],
    to: Annotated[str | None, about("End of the range. Default: now.", allow_leading_hyphen=True)] = None,
    dry_run: Annotated[bool, about("Only show what would be run.")] = False,
    rate: Annotated[float | None, about("At most so many per second.")] = None,
    json: Json = False,
) -> int:
    """Run the occurrences of a range in the past."""
    end = instant(to, "to") if to else instant("-0s", "to")
    body = {"start": instant(from_, "from"), "end": end, "dry_run": dry_run, "rate": rate}
    with connect() as client:
        found = client.post(f"{place('jobs', job)}/backfill", body)
    if json:
        write_json(found)
        return DONE
    out = console()
    for at in found["scheduled_at"][:20]:
        write(out, at)
    if len(found["scheduled_at"]) > 20:
        write(out, f"… and {len(found['scheduled_at']) - 20} more", "dim")
    verb = "would be run" if found["dry_run"] else "are on their way"
    left = (
        f"; {len(found['left_out'])} left out, they have a run or fire by themselves"
        if found["left_out"]
        else ""
    )
    write(out, f"{len(found['scheduled_at'])} runs {verb}{left}")
    _warn(found)
    return DONE


def delete(
    job: Ref,
    /,
    *,
    cancel_running: Annotated[bool, about("Stop its running runs too.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Delete a job. Its history stays."""
    with connect() as client:
        found = client.get(place("jobs", job))
        if not confirm(f"Delete the job {found['name']} ({found['job_id']})?", yes):
            return NOT_DONE
        client.delete(place("jobs", found["job_id"]), cancel_running=cancel_running)
    return _done({"job_id": found["job_id"], "deleted": True}, f"{found['name']} is deleted", json)


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except OSError as error:
        raise InvalidField("no_file", f"{file} cannot be read: {error.strerror}", field="file") from None
    found = read_json(text, "file")
    if not isinstance(found, dict):
        raise InvalidField(
            "bad_type", f"{file} is not one JSON object", field="file", hint="see sexton import"
        )
    return found


def _from_options(options: Fields) -> dict[str, Any]:
    spec: dict[str, Any] = {
        name: getattr(options, name) for name in PLAIN if getattr(options, name) is not None
    }
    if options.exclude:
        spec["exclude"] = list(options.exclude)
    if options.label:
        spec["labels"] = dict(_pair(each, "=", "label", "team=billing") for each in options.label)
    for name in JSON:
        if (text := getattr(options, name)) is not None:
            spec[name] = _json_of(text, name)
    if target := _target(options):
        if "target" in spec:
            raise InvalidField(
                "bad_target",
                "--target is given, and --handler or --http too",
                field="target",
                hint="give one",
            )
        spec["target"] = target
    return spec


def _target(options: Fields) -> dict[str, Any] | None:
    if options.handler is not None and options.http is not None:
        raise InvalidField(
            "bad_target", "both --handler and --http are given", field="target", hint="give one"
        )
    if options.handler is not None:
        return {"handler": options.handler}
    given: dict[str, Any] = {
        "method": options.http_method,
        "headers": dict(_pair(each, ":", "http-header", "X-Team: billing") for each in options.http_header),
        "body": options.http_body,
        "success_codes": list(options.http_success),
    }
    given = {name: value for name, value in given.items() if value}
    if options.http is None:
        if given:
            raise InvalidField("bad_target", "there is no --http URL", field="http", hint="add --http URL")
        return None
    return {"http": {"url": options.http, **given}}


def _pair(text: str, mark: str, option: str, example: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise InvalidField("bad_value", f"--{option} {text!r}", field=option, hint=f"such as {example!r}")
    return name.strip(), value.strip()


def _json_of(text: str, field: str) -> Any:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text("utf-8")
        except OSError as error:
            raise InvalidField(
                "no_file", f"{text[1:]} cannot be read: {error.strerror}", field=field
            ) from None
    return read_json(text, field)


def _show_made(job: dict[str, Any]) -> None:
    out = console()
    write(out, f"{job['name']} ({job['job_id']}) fires next at {short_time(job['next_run_at'])}", "bold")
    _warn(job)


def _warn(found: dict[str, Any]) -> None:
    for warning in found.get("warnings", []):
        paragraph(console(error=True), f"warning: {warning}", "yellow")


def _done(found: Any, text: str, as_json: bool) -> int:
    if as_json:
        write_json(found)
    else:
        write(console(), text)
        if isinstance(found, dict):
            _warn(found)
    return DONE


def _follow(client: Client, job: dict[str, Any], as_json: bool) -> int:
    """Show runs as they end, until the job is over or somebody presses Ctrl-C."""
    out = console()
    path = place("jobs", job["job_id"])
    seen: set[str] = set()
    while True:
        try:
            runs = client.get(f"{path}/runs", limit=100)
            status = client.get(path)["status"]
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
    result = "" if run["result"] is None else f"  {cut(json_.dumps(run['result'], ensure_ascii=False), 60)}"
    note = f"  {note_of(run)}" if note_of(run) else ""
    text = f"{short_time(run['scheduled_at'])}  {run['run_id']}  {run['status']}"
    text += f"  late {seconds(run['late_seconds'])}"
    write(out, f"{text}  took {seconds(took(run))}{result}{note}", STYLES.get(run["status"], ""))
