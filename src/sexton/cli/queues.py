"""`sexton queues`: limits, pause and resume."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.cli import DONE
from sexton.cli.client import place
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Json, connect, short_time, show_fields
from sexton.errors import InvalidField

Name = Annotated[str, Parameter(help="The queue's name.")]


def list_(*, json: Json = False) -> int:
    """List queues with their limits and what waits in them."""
    with connect() as client:
        found = client.get("/queues")
    if json:
        write_json(found)
        return DONE
    out = console()
    if not found:
        write(out, "No queues: the first job makes one.", "dim")
        return DONE
    headings = ("queue", "state", "running", "waiting", "at a time", "per key", "per second")
    table = Table(*headings, elastic=("queue",))
    for each in found:
        table.add(
            each["name"], "paused" if each["paused"] else "open", _shown(each["running"]),
            f"{each['waiting']:,}", _shown(each["concurrency"]), _shown(each["key_concurrency"]),
            _shown(each["rate"]), note=each["paused_reason"], style="yellow" if each["paused"] else "",
        )  # fmt: skip
    table.print(out)
    return DONE


def show(name: Name, /, *, json: Json = False) -> int:
    """Show a queue: its limits, whether it is paused, what waits."""
    with connect() as client:
        found = client.get(place("queues", name))
    return _answer(found, json)


def set_(
    name: Name,
    /,
    *,
    concurrency: Annotated[
        int | None, Parameter(help="Runs at a time, in the whole cluster.", allow_leading_hyphen=True)
    ] = None,
    key_concurrency: Annotated[
        int | None, Parameter(help="Runs at a time that share a concurrency_key.", allow_leading_hyphen=True)
    ] = None,
    rate: Annotated[
        float | None, Parameter(help="Starts per second, retries included.", allow_leading_hyphen=True)
    ] = None,
    burst: Annotated[
        int | None,
        Parameter(help="Starts at once. Default: those of a second.", allow_leading_hyphen=True),
    ] = None,
    unlimited: Annotated[bool, Parameter(help="Remove the limits that are not given.")] = False,
    json: Json = False,
) -> int:
    """Limit a queue: so many at a time, of one key, per second.

    What is not given stays as it is, unless --unlimited removes it.
    """
    given = {
        "concurrency": concurrency,
        "key_concurrency": key_concurrency,
        "rate": rate,
        "burst": burst,
    }
    wish = {limit: value for limit, value in given.items() if value is not None}
    if not wish and not unlimited:
        raise InvalidField(
            "nothing_given",
            "nothing says which limit to set",
            field="concurrency",
            hint="give --concurrency, --key-concurrency, --rate or --unlimited",
        )
    with connect() as client:
        path = place("queues", name)
        found = client.put(path, wish) if unlimited else client.patch(path, wish)
    return _answer(found, json)


def pause(
    name: Name,
    /,
    *,
    reason: Annotated[str | None, Parameter(help="Why; shown with every run that waits.")] = None,
    json: Json = False,
) -> int:
    """Pause a queue: its runs wait until it is resumed."""
    with connect() as client:
        found = client.post(f"{place('queues', name)}/pause", {"reason": reason})
    return _answer(found, json)


def resume(name: Name, /, *, json: Json = False) -> int:
    """Resume a paused queue."""
    with connect() as client:
        found = client.post(f"{place('queues', name)}/resume")
    return _answer(found, json)


def _answer(found: dict[str, Any], as_json: bool) -> int:
    if as_json:
        write_json(found)
        return DONE
    out = console()
    at = {"paused_at", "oldest_available_at"}
    fields = [
        (name, short_time(value) if name in at and value else value)
        for name, value in found.items()
        if name not in ("warnings", "paused")
    ]
    show_fields(out, [("state", "paused" if found["paused"] else "open"), *fields])
    for warning in found["warnings"]:
        write(console(error=True), warning, "yellow")
    return DONE


def _shown(limit: float | None) -> str:
    return "-" if limit is None else f"{limit:,g}"
