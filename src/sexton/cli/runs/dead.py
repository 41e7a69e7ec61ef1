"""`sexton dead`: dead letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.runs import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.command import WHY, Ask, command
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import (
    Yes,
    confirm,
    first_line,
    read_json,
    read_json_file,
    short_time,
    show_fields,
)
from sexton.cli.runs.runs import show_started
from sexton.errors import InvalidField
from sexton.printable import counted

NAMES = {"error_group": "--group"}
BECAUSE = "--because"  # --reason filters by the reason of the death

Letter = Annotated[
    str | None, Parameter(help="The dead run's id, r_…. Without it: all letters that match the filters.")
]


@command(routes.LIST_DEAD, names=NAMES)
def list_(
    ask: Ask, *, groups: Annotated[bool, Parameter(help="Group the dead letters by cause.")] = False
) -> int:
    """List dead letters, the latest first."""
    if groups:
        given = {name: value for name, value in ask.given.items() if name in ("job", "limit")}
        ask = replace(ask, route=routes.LIST_DEAD_GROUPS, given=given, filters=("--job",))
    return ask.shown(_show_groups if groups else _show_all)


@command(routes.GET_DEAD_TARGET)
def target(
    ask: Ask,
    *,
    reason: Annotated[str | None, Parameter(help=WHY)] = None,
    file: Annotated[
        Path | None, Parameter(help="An http or message target as JSON; - for the standard input.")
    ] = None,
    none: Annotated[bool, Parameter(help="Remove the target: dead letters are only kept here.")] = False,
) -> int:
    """Show or set where dead letters are sent as well."""
    if file is not None and none:
        raise InvalidField(
            "bad_target", "--file and --none are given together", field="file", hint="give one"
        )
    if file is not None or none:
        wanted = {"target": None if file is None else read_json_file(file)}
        ask = replace(ask, route=routes.SET_DEAD_TARGET, given=wanted)
        ask.client.reason = reason
    return ask.shown(_show_target)


@command(routes.REDRIVE_MANY, names=NAMES, why=BECAUSE)
def redrive(
    ask: Ask,
    run: Letter = None,
    /,
    *,
    payload: Annotated[
        str | None, Parameter(help="Of one letter: a payload instead of its own, as JSON or @FILE.")
    ] = None,
) -> int:
    """Run dead letters again."""
    _check_chosen(ask, run)
    if run is not None:
        given = {} if payload is None else {"payload": read_json(payload, "payload")}
        return replace(ask, route=routes.REDRIVE_DEAD, path=(run,), given=given).shown(show_started)
    if payload is not None:
        hint = "leave it out, or name the run"
        raise InvalidField("bad_value", "--payload is for one letter", field="payload", hint=hint)
    return ask.shown(_show_redriven)


@command(routes.DISCARD_MANY, names=NAMES, why=BECAUSE)
def discard(ask: Ask, run: Letter = None, /, *, yes: Yes = False) -> int:
    """Discard dead letters. The history keeps that they died."""
    _check_chosen(ask, run)
    what, bounds = run, {}
    if ask.given.get("dry_run"):
        return ask.shown(lambda found: _show_counted(found, "discarded"))
    if run is None and not yes:
        count = ask(dry_run=True)
        what = _counted(count)
        bounds = {} if count["estimated"] else {"expected": count["matched"]}
    if not confirm(f"Discard {what}?", yes):
        return NOT_DONE
    if run is None:
        found = ask(**{**bounds, **ask.given})
    else:
        ask.client.ask(routes.DISCARD_DEAD, run)
        found = {"discarded": 1}
    if ask.json:
        write_json(found)
    else:
        write(console(), f"{found['discarded']} discarded")
    return DONE


def _show_all(found: list[dict[str, Any]]) -> None:
    table = Table("run", "job", "died", "reason", "tries", "error", elastic=("job", "error"))
    for each in found:
        table.add(
            each["run_id"], each["job_name"] or each["job_id"], short_time(each["died_at"]), each["reason"],
            str(each["attempt"]), first_line(each["error"]),
        )  # fmt: skip
    table.print(none="No dead letters.")


def _show_redriven(found: dict[str, Any]) -> None:
    if "redriven" in found:
        write(console(), f"{counted(found['redriven'], 'run')} on the way")
    else:
        _show_counted(found, "run again")


def _show_counted(found: dict[str, Any], done: str) -> None:
    """Of a dry run."""
    _show_all(found["sample"])
    write(console(), f"{_counted(found)} would be {done}")


def _counted(found: dict[str, Any]) -> str:
    return counted(found["matched"], "dead letter") + (" or more" if found["estimated"] else "")


def _show_groups(found: list[dict[str, Any]]) -> None:
    table = Table("letters", "jobs", "reason", "last", "cause", elastic=("cause",))
    for each in found:
        died_at = short_time(each["last_died_at"])
        table.add(str(each["letters"]), str(each["jobs"]), each["reason"], died_at, each["error_group"])
    table.print(none="No dead letters.")


def show_letter(found: dict[str, Any]) -> None:
    out = console()
    show_fields(out, [(name, value) for name, value in found.items() if name != "attempts"])
    for each in found["attempts"]:
        started, error = short_time(each["started_at"]), first_line(each["error"])
        write(out, f"attempt {each['attempt']}  {started}  {error}")


def _show_target(found: dict[str, Any]) -> None:
    if found["target"] is None:
        write(console(), "Dead letters go nowhere else.")
    else:
        write_json(found["target"])


def _check_chosen(ask: Ask, run: str | None) -> None:
    """Either a run or a filter."""
    if run is not None and ask.given:
        raise InvalidField(
            "bad_filter", f"the run {run} and a filter are given", field="run", hint="give one of them"
        )
    if run is None and not ask.given.keys() - {"rate", "dry_run", "expected"}:
        raise InvalidField(
            "bad_filter",
            "neither a run nor a filter is given",
            field="run",
            hint="name a run, --job, --group or --all",
        )
