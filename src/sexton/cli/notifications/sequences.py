"""`sexton sequences`: series of messages with waits between them."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import recurring_routes as routes
from sexton.cli.command import Ask, command
from sexton.cli.notifications.notify import Variables, read_variables
from sexton.cli.output import Table, console, write
from sexton.cli.remote import read_json, short_time, show_fields

User = Annotated[str, Parameter(help="The recipient's id.")]


@command(routes.PUT_SEQUENCE, without=("steps",))
def put(
    ask: Ask,
    steps: Annotated[str, Parameter(help="The steps as JSON, or @FILE.", allow_leading_hyphen=True)],
    /,
) -> int:
    """Make a sequence, or change it.

    sexton sequences put onboarding @steps.json --stop-on purchased
    """
    return ask.shown(show, steps=read_json(steps, "steps"))


@command(routes.ENTER_SEQUENCE, without=("user_id", "template_vars"))
def enter(ask: Ask, user_id: User, /, *, var: Variables = ()) -> int:
    """Enter a recipient into a sequence: each step becomes a message.

    sexton sequences enter onboarding ann --var name=Ann
    """
    return ask.shown(show_member, user_id=user_id, **read_variables(var))


@command(routes.NOTE_RECIPIENT_EVENT, without=("user_id", "event"))
def event(
    ask: Ask,
    user_id: User,
    event: Annotated[str, Parameter(help="What the recipient did, such as purchased.")],
    /,
) -> int:
    """Report what a recipient did: sequences that stop on it end.

    sexton sequences event ann purchased
    """

    def view(found: dict[str, Any]) -> None:
        write(console(), f"stopped: {', '.join(found['stopped']) or 'none'}")

    return ask.shown(view, user_id=user_id, event=event)


def show(found: dict[str, Any]) -> None:
    out = console()
    names = ("stop_on", "topic", "revision", "changed_by", "changed_at")
    show_fields(out, [("sequence", found["name"]), *((name, found[name]) for name in names)])
    table = Table("step", "when", "template", "channel", elastic=("template",))
    for place, step in enumerate(found["steps"], 1):
        if "day" in step:
            when = f"day {step['day']}" + (f" at {step['at']}" if "at" in step else "")
        else:
            when = f"after {step.get('after_seconds', 0):,} s"
        channel = step["channel"] if isinstance(step["channel"], str) else ", ".join(step["channel"])
        table.add(str(place), when, step["template_id"], channel)
    table.print(out)


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("sequence", "steps", "stops on", "changed", elastic=("sequence", "stops on"))
    for each in found:
        steps, stops = f"{len(each['steps'])}", ", ".join(each["stop_on"])
        table.add(each["name"], steps, stops or "-", short_time(each["changed_at"]))
    table.print(none="No sequences: sexton sequences put makes one.")


def show_member(found: dict[str, Any]) -> None:
    out = console()
    fields = [("to", found["user_id"]), ("entered", found["entered_at"]), ("stopped", found["stopped_at"])]
    show_fields(out, [*fields, ("stopped by", found["stopped_by"])])
    table = Table("message", "status", "send at")
    for step in found["steps"]:
        table.add(step["notification_id"], step["status"], short_time(step["send_at_utc"]))
    table.print(out)
