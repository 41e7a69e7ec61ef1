"""`sexton segments` and `sexton audiences`: the recipients of campaigns."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import campaign_routes as routes
from sexton.cli.client import path_of
from sexton.cli.command import Ask, command
from sexton.cli.imports import LinesFile, is_json, open_file
from sexton.cli.output import Table, console
from sexton.cli.remote import read_json, short_time, show_fields

LINES, CSV = "application/x-ndjson", "text/csv"


@command(routes.PUT_SEGMENT, without=("filter",))
def put_segment(
    ask: Ask,
    filter_: Annotated[str, Parameter(help="The filter as JSON, or @FILE.", allow_leading_hyphen=True)],
    /,
) -> int:
    """Save a filter on recipients under a name.

    sexton segments put customers '{"field": "plan", "is": "pro"}'
    """
    return ask.shown(show_segment, filter=read_json(filter_, "filter"))


@command(routes.PUT_AUDIENCE)
def upload(
    ask: Ask,
    file: LinesFile,
    /,
) -> int:
    """Upload a list of recipients; it replaces the previous one.

    One JSON object per line, with user_id and vars, or CSV whose first line names
    the columns: user_id, and others that become variables.
    """
    with open_file(file) as stream:
        content = stream.read()
    kind = LINES if is_json(content) else CSV
    path = path_of(ask.route, *ask.path)
    found, _ = ask.client.request("PUT", path, content, headers={"Content-Type": kind})
    return ask.shown_as(found, show_audience)


def show_segment(found: dict[str, Any]) -> None:
    show_fields(console(), [("segment", found["name"]), *_others(found)])


def show_audience(found: dict[str, Any]) -> None:
    show_fields(console(), [("list", found["name"]), *_others(found)])


def _others(found: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in found.items() if name != "name"]


def show_segments(found: list[dict[str, Any]]) -> None:
    table = Table("segment", "by", "changed", "description", elastic=("segment", "description"))
    for each in found:
        about = each["description"] or ""
        table.add(each["name"], each["changed_by"], short_time(each["changed_at"]), about)
    table.print(none="No segments: sexton segments put makes one.")


def show_audiences(found: list[dict[str, Any]]) -> None:
    table = Table("list", "recipients", "by", "uploaded", elastic=("list",))
    for each in found:
        size, at = f"{each['size']:,}", short_time(each["uploaded_at"])
        table.add(each["name"], size, each["uploaded_by"], at)
    table.print(none="No lists: sexton audiences upload makes one.")
