"""`sexton recipients`: who gets messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import routes
from sexton.cli import DONE, NOT_DONE, many
from sexton.cli.client import path_of
from sexton.cli.command import Ask, command
from sexton.cli.imports import LinesFile, import_file
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Json, Yes, confirm, pair, read_json, show_fields
from sexton.printable import counted

CHUNK, MOST_LINES = 5000, 20_000
Fields = Annotated[
    tuple[str, ...], Parameter(name="--field", help="A field of your own: name=value. Repeatable.")
]
LISTS = ("devices", "opt_outs", "caps")
JsonText = Annotated[str | None, Parameter(help="A list as JSON, or @FILE.", allow_leading_hyphen=True)]


@command(routes.CHANGE_RECIPIENT, without=("fields", *LISTS))
def set_(
    ask: Ask,
    *,
    field: Fields = (),
    devices: JsonText = None,
    opt_outs: JsonText = None,
    caps: JsonText = None,
) -> int:
    """Make a recipient, or change some fields of one.

    sexton recipients set ann --email ann@example.org --timezone Europe/Berlin --field name=Ann
    """
    own = dict(pair(each, "=", "field", "name=Ann") for each in field)
    typed = {"devices": devices, "opt_outs": opt_outs, "caps": caps}
    lists = {name: read_json(text, name) for name, text in typed.items() if text is not None}
    answer, _ = ask.client.request("GET", path_of(routes.GET_RECIPIENT, *ask.path), accept=(404,))
    if "user_id" in answer:
        more = {"fields": {**answer["fields"], **own}} if own else {}
        return ask.shown(_show, **lists, **more)
    given = {**ask.given, **lists, **({"fields": own} if own else {})}
    found = ask.client.ask(routes.PUT_RECIPIENT, ask.path[0], **given)
    return ask.shown_as(found, _show)


@command(routes.EXPORT_RECIPIENT)
def export(ask: Ask) -> int:
    """Print everything about a recipient, as JSON."""
    write_json(ask())
    return DONE


@command(routes.ERASE_RECIPIENT, chosen=routes.RecipientActionFilter)
def erase(
    ask: Ask,
    recipient: Annotated[
        str | None, Parameter(help="The recipient's id. Without one: those that a filter means.")
    ] = None,
    /,
    *,
    dry_run: many.DryRun = False,
    yes: Yes = False,
) -> int:
    """Erase all data of a person. The audit records it.

    One by the id, or all that a filter means, once you have seen how many they
    are; for many, --reason is needed.
    """
    one = many.named(ask, recipient, many.RECIPIENTS, dry_run=dry_run)
    if one is None:
        return many.act(ask, "erase", many.RECIPIENTS, yes=yes, dry_run=dry_run)
    ask = replace(ask, path=(one,))
    if not ask.json and not confirm(f"Erase {one} and all messages to them?", yes):
        return NOT_DONE

    def view(found: dict[str, Any]) -> None:
        rows = ", ".join(f"{count} {name}" for name, count in found["rows"].items())
        write(console(), f"{found['user_id']} is erased: {rows}")
        write(console(), "certificate: sexton audit list --action recipient.erased", "dim")

    return ask.shown(view)


def import_recipients(
    file: LinesFile,
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines stored in one transaction. Default: 5000.")] = CHUNK,
    reason: Annotated[str | None, Parameter(help="The reason, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Make or change many recipients from JSON lines or CSV.

    Either one JSON object per line, with user_id, or CSV whose first line names
    the columns, such as user_id,email,phone,timezone,field.name. What a line
    leaves out stays as it is, so the same file can be imported again.
    """
    imported = import_file(
        routes.IMPORT_RECIPIENTS, file, chunk, MOST_LINES, "recipient", "made", reason=reason, show=not json
    )
    made, changed = imported.counts["created"], imported.counts["changed"]
    return imported.shown(
        f"{counted(made, 'recipient')} made, {changed:,} changed",
        f"Of each {chunk:,} lines either all are taken or none: correct these, and import it again.",
        json=json,
    )


def _show(found: dict[str, Any]) -> None:
    show_fields(console(), found.items())


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("user", "email", "phone", "timezone", "locale", elastic=("user", "email"))
    for each in found:
        table.add(*(each[name] or "" for name in ("user_id", "email", "phone", "timezone", "locale")))
    table.print(none="no recipients: sexton recipients set ann --email ann@example.org makes one")
