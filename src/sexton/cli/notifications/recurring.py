"""`sexton notify add-schedule`, …: recurring notifications."""

from __future__ import annotations

from typing import Any

from sexton.api.notifications import recurring_routes as routes
from sexton.cli.command import Ask, command
from sexton.cli.notifications.notify import Variables, read_variables
from sexton.cli.output import Table, console
from sexton.cli.remote import short_time, show_fields

NAMES = {"recurrence_rule": "--rule", "recurrence_end": "--until", "user_id": "--to"}


@command(
    routes.CREATE_NOTIFICATION_SCHEDULE,
    names={**NAMES, "template_id": "--template"},
    without=("template_vars", "is_active"),
    defaults={"channel": "email"},
)
def add(ask: Ask, *, var: Variables = ()) -> int:
    """Notify repeatedly, at local times, by a rule.

    sexton notify add-schedule --to ann --template week --rule '0 9 * * mon'
    """
    return ask.shown(show, **read_variables(var))


@command(routes.LIST_NOTIFICATION_SCHEDULES, names={"user_id": "--to"})
def list_(ask: Ask) -> int:
    """List recurring notifications, with their next times."""
    return ask.shown(_show_all)


@command(
    routes.CHANGE_NOTIFICATION_SCHEDULE,
    names={**NAMES, "template_id": "--template"},
    without=("template_vars", "is_active"),
)
def change(ask: Ask, *, var: Variables = ()) -> int:
    """Change a recurring notification.

    sexton notify change-schedule ns_1 --rule '0 10 * * mon'
    """
    return ask.shown(show, **read_variables(var))


def show(found: dict[str, Any]) -> None:
    follows = ", that of the recipient" if found["follows_recipient"] else ""
    channel = found["channel"] if isinstance(found["channel"], str) else ", ".join(map(str, found["channel"]))
    fields = [
        ("schedule", found["schedule_id"] + (f"  {found['name']}" if found["name"] else "")),
        ("status", "active" if found["is_active"] else "paused"),
        ("to", f"{found['user_id'] or 'an address'} by {channel}"),
        ("template", found["template_id"]),
        ("rule", found["recurrence_rule"]),
        ("zone", f"{found['timezone']}{follows}"),
        ("until", found["recurrence_end"]),
        ("next", found["next_fire_at"]),
        ("variables", found["template_vars"]),
    ]
    show_fields(console(), fields)


def _show_all(found: list[dict[str, Any]]) -> None:
    table = Table("schedule", "to", "template", "rule", "zone", "next", elastic=("to", "template", "rule"))
    for each in found:
        table.add(
            each["schedule_id"], each["user_id"] or "-", each["template_id"], each["recurrence_rule"],
            each["timezone"], short_time(each["next_fire_at"]) if each["is_active"] else "paused",
            style="" if each["is_active"] else "dim",
        )  # fmt: skip
    table.print(none="No notifications recur: sexton notify add-schedule makes one.")
