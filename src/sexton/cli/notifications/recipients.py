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


Recipient = Annotated[str | None, Parameter(help="The recipient's id. Without one: all that match a filter.")]


@command(routes.ACT_ON_RECIPIENTS, without=many.HOW, chosen=routes.RecipientActionFilter)
def suppress(
    ask: Ask, recipient: Recipient = None, /, *, dry_run: many.DryRun = False, yes: Yes = False
) -> int:
    """Send nothing to recipients any more, on any channel.

    Not even what is scheduled. One by the id, or all that a filter means, once you
    have seen how many they are. The reason is kept with them.
    """
    return _act(ask, "suppress", recipient, yes=yes, dry_run=dry_run)


@command(routes.ACT_ON_RECIPIENTS, without=many.HOW, chosen=routes.RecipientActionFilter)
def unsuppress(
    ask: Ask, recipient: Recipient = None, /, *, dry_run: many.DryRun = False, yes: Yes = False
) -> int:
    """Send to suppressed recipients again.

    One by the id, or all that a filter means, once you have seen how many they are.
    Addresses that were suppressed on their own stay so.
    """
    return _act(ask, "unsuppress", recipient, yes=yes, dry_run=dry_run)


def _act(ask: Ask, action: str, one: str | None, *, yes: bool, dry_run: bool) -> int:
    if (recipient := many.named(ask, one, many.RECIPIENTS, dry_run=dry_run)) is None:
        return many.act(ask, action, many.RECIPIENTS, yes=yes, dry_run=dry_run)
    return many.act_on_one(ask, action, many.RECIPIENTS, recipient)


@command(routes.ERASE_RECIPIENT, chosen=routes.RecipientActionFilter)
def erase(ask: Ask, recipient: Recipient = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
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
    columns = ("user_id", "email", "phone", "timezone", "locale", "suppressed_reason")
    table = Table(
        "user", *columns[1:-1], "suppressed", elastic=("user", "email", "suppressed"), spare=("suppressed",)
    )
    for each in found:
        table.add(*(each[name] or "" for name in columns))
    table.print(none="No recipients: sexton recipients set ann --email ann@example.org makes one.")
