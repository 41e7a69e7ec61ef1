"""`sexton digests`: events of a recipient, collected into one message."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import recurring_routes as routes
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import pair, read_object, show_fields


@command(
    routes.PUT_DIGEST,
    names={"template_id": "--template"},
    defaults={"channel": "email"},
    without=("is_active",),
)
def put(
    ask: Ask,
    *,
    inactive: Annotated[bool, Parameter(help="Keep the digest, but accept no events.", negative="")] = False,
) -> int:
    """Make a digest, or change it.

    sexton digests put comments --template comments --schedule '0 9 * * mon'
    """
    return ask.shown(show, **({"is_active": False} if inactive else {}))


@command(routes.ADD_DIGEST_EVENT, without=("user_id", "data"))
def add(
    ask: Ask,
    user_id: Annotated[str, Parameter(help="The recipient's id.")],
    /,
    *,
    data: Annotated[
        str | None,
        Parameter(help="The data of the event for the template: JSON, or @FILE.", allow_leading_hyphen=True),
    ] = None,
    field: Annotated[
        tuple[str, ...], Parameter(name="--field", help="One value of that data: name=value. Repeatable.")
    ] = (),
) -> int:
    """Add an event to the next digest of a recipient.

    sexton digests add comments ann --field text='Well done' --event-id c-17
    """
    given = read_object(data, "data")
    given |= dict(pair(each, "=", "field", "text=Hi") for each in field)
    return ask.shown(_show_event, user_id=user_id, data=given)


def show(found: dict[str, Any]) -> None:
    shown = {"digest": found["name"], **{name: value for name, value in found.items() if name != "name"}}
    show_fields(console(), shown.items())


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("digest", "template", "channels", "schedule", "at most", elastic=("digest", "schedule"))
    for each in found:
        table.add(
            each["name"], each["template_id"], ", ".join(each["channels"]), each["schedule"],
            f"{each['max_events']:,}", style="" if each["is_active"] else "dim",
        )  # fmt: skip
    table.print(none="No digests: sexton digests put makes one.")


def _show_event(found: dict[str, Any]) -> None:
    when = f", due {found['send_at_utc']}" if found["send_at_utc"] else ""
    write(console(), f"{found['event_id']} is in {found['notification_id']}{when}")
