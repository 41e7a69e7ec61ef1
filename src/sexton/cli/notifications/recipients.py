"""`sexton recipients`: who gets messages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.command import Ask, command
from sexton.cli.imports import MOST_SHOWN, ImportProgress, chunks, file_argument, open_file
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Json, confirm, connect, pair, read_json, show_fields
from sexton.errors import InvalidField
from sexton.printable import counted

if TYPE_CHECKING:
    from sexton.cli.client import Client

CHUNK = 5000
MOST_ERRORS = 1000
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
    """Make a recipient, or change some of her fields.

    sexton recipients set ann --email ann@example.org --timezone Europe/Berlin --field name=Ann
    """
    own = dict(pair(each, "=", "field", "name=Ann") for each in field)
    typed = {"devices": devices, "opt_outs": opt_outs, "caps": caps}
    lists = {name: read_json(text, name) for name, text in typed.items() if text is not None}
    answer, _ = ask.client.request("GET", _path(ask.path[0]), accept=(404,))
    if "user_id" in answer:
        more = {"fields": {**answer["fields"], **own}} if own else {}
        return ask.shown(_show, **lists, **more)
    given = {**ask.given, **lists, **({"fields": own} if own else {})}
    found = ask.client.ask(routes.PUT_RECIPIENT, ask.path[0], **given)
    return ask.shown_as(found, _show)


@command(routes.GET_RECIPIENT)
def show(ask: Ask) -> int:
    """Show a recipient."""
    return ask.shown(_show)


@command(routes.LIST_RECIPIENTS)
def list_(ask: Ask) -> int:
    """List recipients in the order of their ids."""

    def view(found: list[dict[str, Any]]) -> None:
        if not found:
            write(console(), "no recipients: sexton recipients set ann --email ann@example.org makes one")
            return
        table = Table("user", "email", "phone", "timezone", "locale", elastic=("user", "email"))
        for each in found:
            table.add(*(each[name] or "" for name in ("user_id", "email", "phone", "timezone", "locale")))
        table.print(console())

    return ask.shown(view)


@command(routes.EXPORT_RECIPIENT)
def export(ask: Ask) -> int:
    """Print all that is known of a recipient, as JSON."""
    write_json(ask())
    return DONE


@command(routes.ERASE_RECIPIENT)
def erase(
    ask: Ask, *, yes: Annotated[bool, Parameter(name=("--yes", "-y"), help="Do not ask first.")] = False
) -> int:
    """Erase all traces of a person. The audit keeps that it was done."""
    if not ask.json and not confirm(f"Erase {ask.path[0]} and all her messages?", yes):
        return NOT_DONE

    def view(found: dict[str, Any]) -> None:
        rows = ", ".join(f"{count} {name}" for name, count in found["rows"].items())
        write(console(), f"{found['user_id']} is erased: {rows}")
        write(console(), "certificate: sexton audit list --action recipient.erased", "dim")

    return ask.shown(view)


def import_recipients(
    file: Annotated[
        Path,
        Parameter(
            help="JSON lines or CSV; - is the standard input.",
            allow_leading_hyphen=True,
            converter=file_argument,
        ),
    ],
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines taken together, all or nothing. Default: 5000.")] = CHUNK,
    reason: Annotated[str | None, Parameter(help="Why, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Make or change many recipients from JSON lines or CSV.

    Either one JSON object per line, with user_id, or CSV whose first line names
    the columns, such as user_id,email,phone,timezone,field.name. What a line
    leaves out stays as it is, so the same file can be imported again.
    """
    if not 1 <= chunk <= 20_000:
        raise InvalidField("out_of_range", f"chunk is {chunk}", field="chunk", hint="give 1 to 20000")
    counts, refused, errors = Counter[str](), 0, list[dict[str, Any]]()
    heading: bytes | None = None
    with connect() as client, open_file(file) as stream, ImportProgress(file, show=not json) as progress:
        client.reason = reason
        for first, lines in chunks(stream, chunk):
            size = sum(map(len, lines))
            if first == 1 and not lines[0].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                heading, lines, first = lines[0], lines[1:], 2
            if lines:
                done, wrong = _send(client, first, lines, heading)
                counts.update(done)
                refused += len(wrong)
                errors += wrong[: MOST_ERRORS - len(errors)]
            progress.advance(size, counts, refused, "recipient", "made")
    if json:
        write_json({**counts, "refused": refused, "errors": errors})
        return NOT_DONE if errors else DONE
    told = f"{counted(counts['created'], 'recipient')} made, {counts['changed']:,} changed"
    write(console(), told + (f", {counted(refused, 'line')} refused" if refused else ""))
    beside = console(error=True)
    for error in errors[:MOST_SHOWN]:
        hint = f" ({error['hint']})" if error.get("hint") else ""
        write(beside, f"line {error['line']}: {error['detail']}{hint}", "yellow")
    if refused:
        more = f"Of each {chunk:,} lines either all are taken or none: correct these, and import it again."
        write(beside, more)
    return NOT_DONE if errors else DONE


def _send(
    client: Client, first: int, lines: list[bytes], heading: bytes | None
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    kind = "application/x-ndjson" if heading is None else "text/csv"
    answer, _ = client.request(
        "POST",
        routes.IMPORT_RECIPIENTS.path,
        (heading or b"") + b"".join(lines),
        query={"chunk": len(lines) + (heading is not None)},
        headers={"Content-Type": kind},
        accept=(422,),
    )
    if "created" not in answer:
        raise InvalidField(
            answer["code"], answer["detail"], field=answer.get("field", "file"), hint=answer.get("hint")
        )
    before = first - 1 - (heading is not None)
    done = {name: answer[name] for name in ("created", "changed")}
    return done, [{**each, "line": each["line"] + before} for each in answer.get("errors", [])]


def _path(user_id: str) -> str:
    from urllib.parse import quote

    return f"/recipients/{quote(user_id, safe='')}"


def _show(found: dict[str, Any]) -> None:
    show_fields(console(), found.items())
