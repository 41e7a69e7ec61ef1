"""`sexton dead`: runs that could not be saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import place
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import (
    Json,
    RunId,
    Yes,
    confirm,
    connect,
    first_line,
    instant,
    listed,
    read_json_file,
    short_time,
    show_fields,
)
from sexton.errors import InvalidField

Letter = Annotated[str | None, Parameter(help="The dead run's id, r_…; or use the filters.")]
Job = Annotated[str | None, Parameter(help="Those of this job.")]
Group = Annotated[str | None, Parameter(help="Those with this cause: see dead list --groups.")]
Reason = Annotated[
    Literal["exhausted", "permanent", "poison"] | None, Parameter(help="Those that died like this.")
]
Before = Annotated[
    str | None, Parameter(help="Those that died before: an instant, or -2h.", allow_leading_hyphen=True)
]
All = Annotated[bool, Parameter(name="--all", help="Every dead letter.")]


def list_(
    *,
    job: Job = None,
    group: Group = None,
    reason: Reason = None,
    groups: Annotated[bool, Parameter(help="Show causes instead of letters.")] = False,
    limit: Annotated[int, Parameter(help="At most so many. Default: 50.")] = 50,
    json: Json = False,
) -> int:
    """List dead letters, the latest first."""
    with connect() as client:
        if groups:
            found = listed(client, "/dead/groups", limit, "--job", job=job)
        else:
            narrow = "--job, --group or --reason"
            found = listed(client, "/dead", limit, narrow, job=job, error_group=group, reason=reason)
    if json:
        write_json(found)
        return DONE
    out = console()
    if not found:
        write(out, "No dead letters.", "green")
        return DONE
    if groups:
        table = Table("letters", "jobs", "reason", "last", "cause", elastic=("cause",))
        for each in found:
            cells = (
                str(each["letters"]),
                str(each["jobs"]),
                each["reason"],
                short_time(each["last_died_at"]),
            )
            table.add(*cells, each["error_group"])
    else:
        table = Table("run", "job", "died", "reason", "tries", "error", elastic=("job", "error"))
        for each in found:
            cells = (
                each["run_id"],
                each["job_name"] or each["job_id"],
                short_time(each["died_at"]),
                each["reason"],
            )
            table.add(*cells, str(each["attempt"]), first_line(each["error"]))
    table.print(out)
    return DONE


def show(run: RunId, /, *, json: Json = False) -> int:
    """Show a dead letter with its payload and attempts."""
    with connect() as client:
        found = client.get(place("dead", run))
    if json:
        write_json(found)
        return DONE
    out = console()
    show_fields(out, [(name, value) for name, value in found.items() if name != "attempts"])
    for each in found["attempts"]:
        write(
            out, f"attempt {each['attempt']}  {short_time(each['started_at'])}  {first_line(each['error'])}"
        )
    return DONE


def target(
    *,
    file: Annotated[
        Path | None, Parameter(help="An http or message target as JSON; - for the standard input.")
    ] = None,
    none: Annotated[bool, Parameter(help="Let them go nowhere else any more.")] = False,
    json: Json = False,
) -> int:
    """Show or say where dead letters go as well."""
    if file is not None and none:
        raise InvalidField(
            "bad_target", "--file and --none exclude each other", field="file", hint="give one"
        )
    with connect() as client:
        if file is not None or none:
            found = client.put("/dead/target", {"target": None if file is None else read_json_file(file)})
        else:
            found = client.get("/dead/target")
    if json:
        write_json(found)
    elif found["target"] is None:
        write(console(), "Dead letters go nowhere else.")
    else:
        write_json(found["target"])
    return DONE


def redrive(
    run: Letter = None,
    /,
    *,
    job: Job = None,
    group: Group = None,
    reason: Reason = None,
    before: Before = None,
    all_: All = False,
    rate: Annotated[float | None, Parameter(help="At most so many per second.")] = None,
    json: Json = False,
) -> int:
    """Run dead letters again."""
    body = _filter(run, job, group, reason, before, all_)
    with connect() as client:
        if run is not None:
            found = client.post(f"{place('dead', run)}/redrive")
            text = f"{found['run_id']} is on its way: sexton runs show {found['run_id']} --follow"
        else:
            found = client.post("/dead/redrive", {**body, "rate": rate})
            text = f"{found['redriven']} runs are on their way"
    if json:
        write_json(found)
    else:
        write(console(), text)
    return DONE


def discard(
    run: Letter = None,
    /,
    *,
    job: Job = None,
    group: Group = None,
    reason: Reason = None,
    before: Before = None,
    all_: All = False,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Discard dead letters. The history keeps that they died."""
    body = _filter(run, job, group, reason, before, all_)
    if not confirm(f"Discard {run or 'these dead letters'}?", yes):
        return NOT_DONE
    with connect() as client:
        if run is not None:
            client.post(f"{place('dead', run)}/discard")
            found = {"discarded": 1}
        else:
            found = client.post("/dead/discard", body)
    if json:
        write_json(found)
    else:
        write(console(), f"{found['discarded']} discarded")
    return DONE


def _filter(
    run: str | None,
    job: str | None,
    group: str | None,
    reason: str | None,
    before: str | None,
    everything: bool,
) -> dict[str, object]:
    given = {
        "job": job,
        "error_group": group,
        "reason": reason,
        "before": None if before is None else instant(before, "before"),
    }
    chosen = [value for value in (run, everything or None) if value] or [*filter(None, given.values())]
    if not chosen:
        raise InvalidField(
            "bad_filter",
            "nothing says which dead letters",
            field="run",
            hint="name a run, --job, --group or --all",
        )
    return {**given, "all": everything}
