"""`sexton notify`: schedule messages, move or cancel them, and see why they were sent when they were."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import routes
from sexton.cli import many
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import Yes, first_line, instant, pair, read_json, read_object, short_time, show_fields

STYLES = {
    "pending": "", "held": "yellow", "processing": "cyan", "sent": "green", "delivered": "green",
    "failed": "red", "bounced": "red", "cancelled": "dim", "expired": "red", "suppressed": "dim",
    "unconfirmed": "yellow",
}  # fmt: skip
# The filters of a list, as they are typed.
CHOICE = {"user_id": "--to", "template_id": "--template", "campaign_id": "--campaign"}

When = Annotated[
    str | None,
    Parameter(
        name="--at",
        help="When: an instant, +2h from now, or a local time of the recipient, such as '2027-03-14 09:00'. "
        "Default: now.",
        allow_leading_hyphen=True,
    ),
]
Variables = Annotated[
    tuple[str, ...], Parameter(name="--var", help="A value of the template: name=value. Repeatable.")
]


@command(
    routes.CREATE_NOTIFICATION,
    without=("template_id", "user_id", "address", "channel", "template_vars", "send_at", "local_time"),
    names={"template_version": "--version"},
)
def send(
    ask: Ask,
    template: Annotated[str, Parameter(help="The template's id.")],
    /,
    *,
    to: Annotated[str | None, Parameter(help="The recipient's id.")] = None,
    address: Annotated[
        str | None, Parameter(help="Send to this address instead of the recipient's; or JSON.")
    ] = None,
    channel: Annotated[
        tuple[str, ...],
        Parameter(help="Channel: email, sms, push, in_app. Repeatable, in fall-back order. Default: email."),
    ] = ("email",),
    at: When = None,
    var: Variables = (),
    values: Annotated[
        str | None, Parameter(name="--vars", help="All values as JSON, or @FILE.", allow_leading_hyphen=True)
    ] = None,
) -> int:
    """Schedule a message.

    sexton notify send reminder --to ann --at '2027-03-14 09:00' --var name=Ann
    """
    given = read_object(values, "vars")
    given |= dict(pair(each, "=", "var", "name=Ann") for each in var)
    more: dict[str, Any] = {"template_vars": given} if given else {}
    if to is not None:
        more["user_id"] = to
    if address is not None:
        more["address"] = read_json(address, "address") if address.startswith(("{", "[")) else address
    more |= _time_of(at)
    names = list(channel) if len(channel) > 1 else channel[0]
    return ask.shown(show_message, template_id=template, channel=names, **more)


@command(routes.LIST_NOTIFICATIONS, names=CHOICE)
def list_(ask: Ask) -> int:
    """List messages, the latest first."""
    return ask.shown(_show_all)


@command(routes.CANCEL_NOTIFICATION, names=CHOICE, chosen=routes.NotificationActionFilter)
def cancel(
    ask: Ask,
    message: Annotated[
        str | None, Parameter(help="The message's id, n_…. Without it: all messages that match the filters.")
    ] = None,
    /,
    *,
    dry_run: many.DryRun = False,
    yes: Yes = False,
) -> int:
    """Cancel messages that were not submitted.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    return many.act_on(ask, message, "cancel", show_message, many.MESSAGES, yes=yes, dry_run=dry_run)


@command(routes.ACT_ON_NOTIFICATIONS, without=many.HOW)
def restore(ask: Ask, message: Annotated[str, Parameter(help="The message's id, n_….")], /) -> int:
    """Restore a cancelled message before its time."""
    return many.act_on_one(ask, "restore", many.MESSAGES, message)


@command(routes.RESCHEDULE_NOTIFICATION, without=("send_at", "local_time"))
def reschedule(
    ask: Ask,
    when: Annotated[
        str,
        Parameter(
            help="When: an instant, +2h from now, or a local time of the recipient.",
            allow_leading_hyphen=True,
        ),
    ],
    /,
) -> int:
    """Send a message at another time.

    sexton notify reschedule n_1 '2027-03-15 09:00'
    """
    return ask.shown(show_message, **_time_of(when))


@command(routes.SET_NOTIFICATION_SETTINGS, without=("caps",))
def settings(
    ask: Ask,
    *,
    caps: Annotated[
        str | None,
        Parameter(help="Most messages for a recipient: JSON, or @FILE.", allow_leading_hyphen=True),
    ] = None,
) -> int:
    """Show or change the settings of all messages.

    sexton notify settings --timezone Europe/Berlin --quiet-hours '{"start": "22:00", "end": "07:00"}'
    """
    more = {} if caps is None else {"caps": read_json(caps, "caps")}
    now = ask.client.ask(routes.GET_NOTIFICATION_SETTINGS)
    found = ask(**{**now, **ask.given, **more}) if ask.given or more else now
    return ask.shown_as(found, lambda each: show_fields(console(), each.items()))


def read_variables(var: tuple[str, ...]) -> dict[str, Any]:
    """`name=value`, as the API takes them; nothing if none were given."""
    return {"template_vars": dict(pair(each, "=", "var", "name=Ann") for each in var)} if var else {}


def _time_of(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    words = text.strip()
    relative = words[:1] in "+-"
    aware = words.endswith(("Z", "z")) or "+" in words[10:] or "-" in words[11:]
    return {"send_at": instant(words, "at")} if relative or aware else {"local_time": words}


def show_message(found: dict[str, Any]) -> None:
    out = console()
    status = found["status"]
    to = found["user_id"] or "an address"
    write(out, f"{found['notification_id']}  {status}", STYLES.get(status, ""))
    rows = [
        ("to", f"{to} by {', '.join(found['channels'])}"),
        ("template", f"{found['template_id']} (version {found['template_version'] or 'latest'})"),
        ("send at", f"{found['local_time_display']}  =  {found['send_at_utc']}"),
        ("looked at next", found["next_at"] if found["next_at"] != found["send_at_utc"] else None),
        ("expires", found["expires_at"]),
        ("held by", found["hold_reason"]),
        ("sent", found["sent_at"] and f"{found['sent_at']} by {found['provider']}"),
        ("failure", found["failure_reason"]),
        ("retries", f"{found['retry_count']} of {found['max_retries']}" if found["retry_count"] else None),
    ]
    show_fields(out, rows)


def _show_all(found: list[dict[str, Any]]) -> None:
    table = Table(
        "id",
        "status",
        "to",
        "channel",
        "template",
        "send at",
        "note",
        elastic=("to", "template", "note"),
        spare=("note",),
    )
    for each in found:
        note = each["failure_reason"] or each["hold_reason"]
        table.add(
            each["notification_id"],
            each["status"],
            each["user_id"] or "",
            each["channel"],
            each["template_id"],
            short_time(each["send_at_utc"]),
            first_line(note) if note else "",
            style=STYLES.get(each["status"], ""),
        )
    table.print(none="No messages: sexton notify send makes one.")


def show_why(found: dict[str, Any]) -> None:
    out = console()
    status = found["status"]
    write(out, f"{found['notification_id']}  {status}", STYLES.get(status, ""))
    for line in found["lines"]:
        write(out, f"{line['local']}  {line['text']}")
