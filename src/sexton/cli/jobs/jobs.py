"""`sexton jobs`: make, look at and change jobs."""

from __future__ import annotations

import json as json_
import os
import shlex
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from msgspec import inspect as types

from sexton.api.jobs import routes
from sexton.cli import DONE, NOT_DONE, many
from sexton.cli.client import path_of
from sexton.cli.command import Ask, command, type_of
from sexton.cli.jobs.output import (
    follow_runs,
    show_all,
    show_backfill,
    show_made,
    show_next,
    show_paused,
    show_rescheduled,
    show_restored,
    show_resumed,
)
from sexton.cli.output import RefusedError, console, paragraph, write, write_json
from sexton.cli.remote import (
    Yes,
    confirm,
    instant,
    pair,
    read_json,
    read_json_file,
)
from sexton.errors import InvalidField, NotFound, ScheduleError, Unavailable
from sexton.jobs.spec import JobSpec

if TYPE_CHECKING:
    from sexton.cli.client import Client


FIELDS = {field.name: field for field in msgspec.structs.fields(JobSpec)}
TEXTS = (types.StrType, types.DateTimeType, types.EnumType)


def about(text: str, **more: Any) -> Parameter:
    return Parameter(help=text, **more)


Job = Annotated[
    str | None, about("The job's id, j_…, or its name. Without it: all jobs that match the filters.")
]


@command(
    routes.CREATE_JOB, names={"labels": "--label"}, defaults={"schedule": None}, times=lambda text, _: text
)
def add(
    ask: Ask,
    name: Annotated[str | None, about("The job's name.")] = None,
    /,
    *,
    handler: Annotated[str | None, about("The handler that runs it. Default: the job's name.")] = None,
    in_: Annotated[
        str | None, about("Run once after a delay: 10m, 1h30m. Instead of --schedule.", name="--in")
    ] = None,
    http: Annotated[str | None, about("Send an HTTP request to this URL instead.")] = None,
    http_method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None, about("Default: POST.")
    ] = None,
    http_header: Annotated[tuple[str, ...], about("'Name: value'. Repeatable.")] = (),
    http_body: Annotated[str | None, about("Template of the body. Default: the payload.")] = None,
    http_success: Annotated[tuple[int, ...], about("A status that is a success. Default: 2xx.")] = (),
    file: Annotated[
        Path | None,
        about("Take the job from a JSON file; - is the standard input.", allow_leading_hyphen=True),
    ] = None,
    replace: Annotated[bool, about("Replace a job of this name.")] = False,
    follow: Annotated[bool, about("Then show its runs as they end, until Ctrl-C.")] = False,
) -> int:
    """Make a job.

    Every field of the API is an option, or comes from --file; options win.
    """
    spec = {**_from_file(file), **ask.given}
    request = _http(http, http_method, http_header, http_body, http_success)
    given = [each for each in (ask.given.get("target"), handler, request) if each is not None]
    if len(given) > 1:
        raise InvalidField(
            "bad_target",
            "more than one of --target, --handler and --http is given",
            field="target",
            hint="give one",
        )
    if handler is not None:
        spec["target"] = {"handler": handler}
    elif request is not None:
        spec["target"] = {"http": request}
    if in_ is not None:
        spec["schedule"] = _delay(in_, "schedule" in ask.given)
    if name is not None:
        spec["name"] = name
    if "name" not in spec:
        raise InvalidField(
            "missing_field", "the job has no name", field="name", hint="sexton jobs add NAME --schedule …"
        )
    # Of a file the server says what is wrong: the name of the field may be misspelt.
    if "schedule" not in spec and file is None:
        raise InvalidField(
            "missing_field", "the job has no schedule", field="schedule", hint="add --schedule 'every 10s'"
        )
    try:
        if replace:
            job = _replace(ask.client, spec)
        else:
            job = ask.client.ask(routes.CREATE_JOB, **spec)
    except ScheduleError as error:
        raise RefusedError(error, spec["schedule"]) from error
    if ask.json:
        write_json(job)
    else:
        show_made(job)
    return follow_runs(ask.client, job, ask.json) if follow else DONE


@command(routes.EDIT_JOB)
def edit(
    ask: Ask,
    *,
    set_: Annotated[
        tuple[str, ...], about("field=value; null is the default. Repeatable.", name="--set")
    ] = (),
) -> int:
    """Change some fields of a job; the others stay.

    Without --set the job is opened in $EDITOR, as JSON.
    """
    job = ask.client.ask(routes.GET_JOB, *ask.path)
    changes = dict(map(_change, set_)) if set_ else _edited(job)
    if not changes:
        write(console(error=True), "nothing is changed")
        return DONE
    try:
        path = path_of(routes.EDIT_JOB, job["job_id"])
        changed = ask.client.patch(path, changes, revision=None if set_ else job["revision"])
    except ScheduleError as error:
        raise RefusedError(error, changes.get("schedule")) from error
    if ask.json:
        write_json(changed)
    else:
        show_made(changed)
    return DONE


@command(routes.LIST_JOBS)
def list_(
    ask: Ask,
    *,
    sort: Annotated[
        Literal["created", "next_run"], about("As they were made, or as they fire next. Default: created.")
    ] = "created",
) -> int:
    """List jobs."""
    return ask.shown(partial(show_all, some=len(ask.given) > 1), sort=f"{sort}_at")


@command(routes.PREVIEW_JOB, defaults={"count": 5})
def next_(ask: Ask) -> int:
    """Show when a job fires next."""
    return ask.shown(show_next)


@command(routes.PAUSE_JOB, chosen=routes.ActionFilter)
def pause(ask: Ask, job: Job = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Pause jobs: nothing fires until they are resumed.

    One by its id or name, or all that match the filters, after you have confirmed
    how many they are.
    """
    return many.act_on(ask, job, "pause", show_paused, yes=yes, dry_run=dry_run, **ask.given)


@command(routes.RESUME_JOB, chosen=routes.ActionFilter)
def resume(ask: Ask, job: Job = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Resume paused jobs.

    One by its id or name, or all that match the filters, after you have confirmed
    how many they are.
    """
    return many.act_on(ask, job, "resume", show_resumed, yes=yes, dry_run=dry_run)


@command(routes.ACT_ON_JOBS, without=routes.ActionRequest.__struct_fields__, chosen=routes.ActionFilter)
def label(
    ask: Ask,
    job: Job = None,
    /,
    *,
    set_: Annotated[tuple[str, ...], about("name=value. Repeatable.", name="--set")] = (),
    remove: Annotated[tuple[str, ...], about("The name of a label to remove. Repeatable.")] = (),
    dry_run: many.DryRun = False,
    yes: Yes = False,
) -> int:
    """Set labels of jobs, or remove some.

    One by its id or name, or all that match the filters, after you have confirmed
    how many they are.
    """
    labels = {**dict.fromkeys(remove), **dict(pair(each, "=", "set", "team=billing") for each in set_)}
    if not labels:
        raise InvalidField(
            "missing_field", "no label is given", field="set", hint="such as --set team=billing"
        )
    one = many.named(ask, job, dry_run=dry_run)
    if one is None:
        return many.act(ask, "label", yes=yes, dry_run=dry_run, labels=labels)
    found = ask.client.ask(routes.GET_JOB, one)
    after = {name: value for name, value in {**found["labels"], **labels}.items() if value is not None}
    edited = ask.client.patch(
        path_of(routes.EDIT_JOB, found["job_id"]), {"labels": after}, revision=found["revision"]
    )
    if ask.json:
        write_json(edited)
    else:
        shown = ", ".join(f"{name}={value}" for name, value in edited["labels"].items())
        write(
            console(),
            f"{edited['name']} has the labels {shown}" if shown else f"{edited['name']} has no labels",
        )
    return DONE


@command(routes.RESCHEDULE_JOB, defaults={"at": None})
def reschedule(
    ask: Ask,
    *,
    in_: Annotated[str | None, about("A delay from now: 10m, 1h30m.", name="--in")] = None,
) -> int:
    """Move a job's next run to another time.

    A one-off job is moved there. For any other job only the next run is, and then
    its schedule continues; occurrences until then are skipped: see sexton why.
    """
    if ("at" in ask.given) == (in_ is not None):
        raise InvalidField(
            "missing_field", "exactly one of --at and --in is required", field="at", hint="such as --in 10m"
        )
    at = f"in {in_}" if in_ is not None else _moment(ask.given["at"])
    return ask.shown(show_rescheduled, at=at)


@command(routes.SKIP_NEXT)
def skip(ask: Ask) -> int:
    """Skip the next occurrence of a job.

    Then its schedule continues. With --at only if that is the next one.
    """
    return ask.shown(show_rescheduled)


@command(routes.RUN_JOB, chosen=routes.ActionFilter)
def run(
    ask: Ask,
    job: Job = None,
    /,
    *,
    wait: Annotated[bool, about("Wait for its end.")] = False,
    dry_run: many.DryRun = False,
    after: many.After = None,
    idempotency_key: many.Key = None,
    yes: Yes = False,
) -> int:
    """Run jobs now, in addition to their schedules.

    One by its id or name, or all that match the filters, after you have confirmed
    how many they are.
    """
    from sexton.cli.runs.runs import show_started, wait_for

    one = many.named(ask, job, dry_run=dry_run, after=after, idempotency_key=idempotency_key)
    if one is None:
        if wait:
            raise InvalidField("bad_value", "--wait is for one job", field="wait", hint="leave it out")
        return many.act(ask, "run", yes=yes, dry_run=dry_run, after=after, key=idempotency_key, **ask.given)
    ask = replace(ask, path=(one,))
    if wait:
        return wait_for(ask.client, ask()["run_id"], None, ask.json)
    return ask.shown(show_started)


@command(routes.BACKFILL_JOB, names={"start": "--from", "end": "--to"}, defaults={"end": "now"})
def backfill(ask: Ask) -> int:
    """Run the occurrences of a range in the past."""
    return ask.shown(show_backfill)


@command(routes.DELETE_JOB, chosen=routes.ActionFilter)
def delete(ask: Ask, job: Job = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Delete jobs. Their history stays.

    One by its id or name, or all that match the filters, after you have confirmed
    how many they are.
    """
    one = many.named(ask, job, dry_run=dry_run)
    if one is None:
        return many.act(ask, "delete", yes=yes, dry_run=dry_run, **ask.given)
    found = ask.client.ask(routes.GET_JOB, one)
    if not confirm(f"Delete the job {found['name']} ({found['job_id']})?", yes):
        return NOT_DONE
    ask.client.ask(routes.DELETE_JOB, found["job_id"], **ask.given)
    if ask.json:
        write_json({"job_id": found["job_id"], "deleted": True})
    else:
        write(console(), f"{found['name']} is deleted")
    return DONE


@command(routes.RESTORE_JOB, chosen=routes.ActionFilter)
def restore(ask: Ask, job: Job = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Restore jobs that were deleted.

    One by its id or former name, or all deleted jobs that match the filters, after
    you have confirmed how many they are. Missed occurrences are skipped.
    """
    return many.act_on(ask, job, "restore", show_restored, yes=yes, dry_run=dry_run)


def _delay(text: str, scheduled: bool) -> str:
    """The schedule for `--in`."""
    if scheduled:
        raise InvalidField(
            "bad_schedule", "--schedule and --in are given together", field="in", hint="give one"
        )
    return f"in {text}"


def _moment(text: str) -> str:
    """A distance from now as an instant; the server reads other times in the job's zone."""
    return instant(text, "at") if text[:1] in ("+", "-") else text


def _replace(client: Client, spec: dict[str, Any]) -> dict[str, Any]:
    """Replace the job; warn about fields that were not given and lose their value."""
    try:
        before = client.ask(routes.GET_JOB, spec["name"])
    except NotFound:
        before = None
    job: dict[str, Any] = client.ask(routes.PUT_JOB, spec["name"], **spec)
    if before is not None and before["job_id"] == job["job_id"]:
        reset = [name for name in FIELDS if name not in spec and before.get(name) != job.get(name)]
        if reset:
            told = f"reset to the default: {', '.join(reset)}; sexton jobs edit changes only given fields"
            paragraph(console(error=True), f"warning: {told}", "yellow")
    return job


def _change(text: str) -> tuple[str, Any]:
    """A field and its value: text as it is typed, anything else as JSON."""
    name, value = pair(text, "=", "set", "priority=1")
    name = name.replace("-", "_")
    if value == "null":
        return name, None
    kind = type_of(FIELDS[name].type)[0] if name in FIELDS else None
    if kind is None or isinstance(kind, TEXTS):
        return name, value
    if isinstance(kind, types.IntType):
        with suppress(ValueError):
            return name, int(value)
        return name, value  # the server refuses it, and says what the field takes
    return name, read_json(value, f"set {name}")


def _edited(job: dict[str, Any]) -> dict[str, Any]:
    """The fields that were changed in the editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise InvalidField(
            "no_editor", "EDITOR is not set", field="set", hint="set it, or give --set field=value"
        )
    before = {name: job[name] for name in FIELDS if name in job}
    with tempfile.TemporaryDirectory(prefix="sexton-") as directory:
        file = Path(directory) / "job.json"
        file.write_text(json_.dumps(before, indent=2, ensure_ascii=False) + "\n", "utf-8")
        if subprocess.run([*shlex.split(editor), str(file)], check=False).returncode:
            raise Unavailable("editor_failed", f"{editor} failed: the job is not changed")
        after = read_json_file(file)
    if not isinstance(after, dict):
        raise InvalidField(
            "bad_type", "the edited text is not one JSON object", field="file", hint="keep the braces"
        )
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    return changed | dict.fromkeys(before.keys() - after.keys())


def _from_file(file: Path | None) -> dict[str, Any]:
    found = {} if file is None else read_json_file(file)
    if not isinstance(found, dict):
        raise InvalidField(
            "bad_type", f"{file} is not one JSON object", field="file", hint="see sexton import"
        )
    return found


def _http(
    url: str | None, method: str | None, headers: tuple[str, ...], body: str | None, success: tuple[int, ...]
) -> dict[str, Any] | None:
    given: dict[str, Any] = {
        "method": method,
        "headers": dict(pair(each, ":", "http-header", "X-Team: billing") for each in headers),
        "body": body,
        "success_codes": list(success),
    }
    given = {name: value for name, value in given.items() if value}
    if url is not None:
        return {"url": url, **given}
    if given:
        raise InvalidField(
            "bad_target", "options of --http are given without it", field="http", hint="add --http URL"
        )
    return None
