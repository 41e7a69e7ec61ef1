"""`sexton content`: plan actions on content, change or cancel them, and see their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sexton.api.content import routes
from sexton.api.route import Route
from sexton.cli import feeds, many
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import Yes, first_line, instant, read_json, seconds, short_time, show_fields, took
from sexton.errors import InvalidField

STYLES = {
    "pending": "", "processing": "cyan", "running": "cyan", "done": "green", "success": "green",
    "failed": "red", "failure": "red", "skipped": "dim", "cancelled": "dim",
}  # fmt: skip
#: The prefix of the ids of releases.
RELEASE = "cr_"
ENTITY_FIELDS = ("entity_type", "entity_id")
# The filters of many, as they are typed.
CHOICE = {"entity_type": "--type", "entity_id": "--entity-id", "created_by": "--created-by"}
WHO = "Who plans it. Default: the caller, as the audit has it."

EntityArgument = Annotated[str, Parameter(help="The entity, TYPE/ID, such as post/42.")]
TimeArgument = Annotated[
    str,
    Parameter(
        help="When: a local time with --timezone, such as '2027-03-14 09:00', an instant, or +2h from now.",
        allow_leading_hyphen=True,
    ),
]
By = Annotated[str | None, Parameter(name="--by", help=WHO)]
ScheduleRef = Annotated[
    str | None,
    Parameter(help="The action's id, c_…, or a release's. Without one: all that match a filter."),
]
Status = Literal["pending", "processing", "done", "failed", "skipped", "cancelled", "all"]


@command(routes.CREATE_SCHEDULE, without=(*ENTITY_FIELDS, "action", "created_by", "local_time", "at"))
def schedule(
    ask: Ask,
    action: Annotated[
        Literal["publish", "unpublish", "archive"], Parameter(help="publish, unpublish or archive.")
    ],
    entity: EntityArgument,
    when: TimeArgument,
    /,
    *,
    by: By = None,
) -> int:
    """Plan an action on an entity, once or by a rule.

    sexton content schedule publish post/42 '2027-03-14 09:00' --timezone Europe/Berlin
    """
    planned = {"action": action, **entity_of(entity), **time_of(when)}
    return ask.shown(show_schedule, **planned, created_by=by)


@command(routes.CREATE_WINDOW, without=(*ENTITY_FIELDS, "created_by", "starts", "ends"))
def window(
    ask: Ask,
    entity: EntityArgument,
    starts: Annotated[str, Parameter(help="When it is published: a local time or an instant.")],
    ends: Annotated[str, Parameter(help="When it is unpublished: a local time or an instant.")],
    /,
    *,
    by: By = None,
) -> int:
    """Publish an entity at one time, unpublish it at another.

    sexton content window banner/7 '2027-03-15 09:00' '2027-03-15 17:00' \\
        --timezone Europe/Berlin --recurrence-rule 'FREQ=WEEKLY;BYDAY=MO,TU,WE'
    """
    return ask.shown(_show_window, **entity_of(entity), starts=starts, ends=ends, created_by=by)


@command(routes.LIST_SCHEDULES, without=("status", "entity_id"), names={"entity_type": "--type"})
def list_(
    ask: Ask,
    *,
    status: Annotated[Status, Parameter(help="Only actions in this state. Default: pending.")] = "pending",
) -> int:
    """List planned actions in the order of their time."""
    more = {} if status == "all" else {"status": status}
    return ask.shown(lambda found: _show_all(found, status), **more)


@command(routes.GET_SCHEDULE)
def show(ask: Ask) -> int:
    """Show a planned action and its executions."""
    if ask.path[0].startswith(RELEASE):
        return replace(ask, route=routes.GET_RELEASE).shown(show_release)

    def view(found: dict[str, Any]) -> None:
        show_schedule(found)
        done = ask.client.ask(routes.SCHEDULE_EXECUTIONS, ask.path[0], limit=10)
        if done:
            write(console(), "")
            show_executions(done)

    return ask.shown(view)


@command(routes.RESCHEDULE_CONTENT, without=("local_time", "at"))
def reschedule(
    ask: Ask,
    when: TimeArgument,
    /,
    *,
    once: Annotated[bool, Parameter(help="Move only the next time of a series.")] = False,
) -> int:
    """Move an action to another time.

    sexton content reschedule c_1 '2027-03-15 09:00'
    """
    more = {"recurrence_rule": None} if once else {}
    return _shown(ask, routes.RESCHEDULE_RELEASE, **time_of(when), **more)


@command(routes.CANCEL_CONTENT, chosen=routes.ContentActionFilter, names=CHOICE)
def cancel(
    ask: Ask, schedule: ScheduleRef = None, /, *, dry_run: many.DryRun = False, yes: Yes = False
) -> int:
    """Cancel planned actions.

    One by its id, or all that match the filters, after you have confirmed how many
    they are. Cancelling the action that opens a window cancels the window. cr_… is
    a release.
    """
    return _act(ask, "cancel", schedule, routes.CANCEL_RELEASE, yes=yes, dry_run=dry_run)


@command(routes.ACT_ON_CONTENT, without=(*many.HOW, "days", "minutes"))
def restore(
    ask: Ask, action: Annotated[str, Parameter(help="The action's id, c_…, or a release's, cr_….")], /
) -> int:
    """Restore a cancelled action or release before its time.

    Restoring the action that opens a window restores the window.
    """
    return many.act_on_one(ask, "restore", _kind(action), action, **ask.given)


@command(routes.ACT_ON_CONTENT, without=many.HOW, chosen=routes.ContentActionFilter, names=CHOICE)
def move(
    ask: Ask,
    schedule: ScheduleRef = None,
    /,
    *,
    dry_run: many.DryRun = False,
    after: many.After = None,
    idempotency_key: many.Key = None,
    yes: Yes = False,
) -> int:
    """Move planned actions by some days or minutes.

    sexton content move --type banner --days 1
    """
    key = idempotency_key
    one = many.named(ask, schedule, many.CONTENT, dry_run=dry_run, after=after, idempotency_key=key)
    if one is None:
        return many.act(
            ask, "move", many.CONTENT, yes=yes, dry_run=dry_run, after=after, key=key, **ask.given
        )
    return many.act_on_one(ask, "move", _kind(one), one, **ask.given)


@command(routes.RUN_CONTENT)
def run(ask: Ask) -> int:
    """Carry out an action now."""
    return _shown(ask, routes.RUN_RELEASE)


@command(routes.APPROVE_CONTENT, chosen=routes.ContentActionFilter, names=CHOICE)
def approve(
    ask: Ask, schedule: ScheduleRef = None, /, *, dry_run: many.DryRun = False, yes: Yes = False
) -> int:
    """Approve actions that need approval.

    One by its id, or all that match the filters, after you have confirmed how many
    they are. cr_… is a release.
    """
    return _act(ask, "approve", schedule, routes.APPROVE_RELEASE, yes=yes, dry_run=dry_run)


@command(routes.LIST_ENTITIES, names={"entity_type": "--type"})
def entities(
    ask: Ask,
    entity: Annotated[
        str | None, Parameter(help="The entity to show, TYPE/ID, such as post/42. Default: all.")
    ] = None,
    /,
    *,
    body: Annotated[
        str | None,
        Parameter(help="Store this as the next version: JSON, or @FILE.", allow_leading_hyphen=True),
    ] = None,
    by: Annotated[str | None, Parameter(name="--by", help="Who wrote it. Default: the caller.")] = None,
) -> int:
    """List entities, show one, or make its next version.

    sexton content entities post/42 --body '{"title": "Spring"}'
    """
    if entity is None:
        if body is not None:
            raise InvalidField(
                "missing_field",
                "--body is given without an entity",
                field="entity",
                hint="sexton content entities post/42 --body '…'",
            )
        return ask.shown(_show_entities)
    named = tuple(entity_of(entity).values())
    if body is not None:
        given = {"body": read_json(body, "body"), "created_by": by}
        found = ask.client.ask(routes.PUT_ENTITY, *named, **given)
    else:
        found = ask.client.ask(routes.GET_ENTITY, *named)
    return ask.shown_as(found, _show_entity)


@command(routes.LIST_EXECUTIONS, without=("entity_id",), names={"entity_type": "--type"})
def executions(ask: Ask) -> int:
    """List executions and their results."""
    return ask.shown(show_executions)


@command(routes.CREATE_FEED, names={"entity_type": "--type"})
def add_feed(ask: Ask) -> int:
    """Make a calendar feed: an address for your own calendar."""
    return feeds.make(ask)


def _act(ask: Ask, action: str, one: str | None, release: Route, *, yes: bool, dry_run: bool) -> int:
    if one is not None and one.startswith(RELEASE):
        ask, view = replace(ask, route=release), show_release
    else:
        view = show_schedule
    return many.act_alike(ask, one, action, view, many.CONTENT, yes=yes, dry_run=dry_run)


def _kind(ref: str) -> many.Many:
    return many.RELEASES if ref.startswith(RELEASE) else many.CONTENT


def _shown(ask: Ask, release: Route, **more: Any) -> int:
    """Show the answer for an action, or for a release if the id of one was given."""
    if ask.path[0].startswith(RELEASE):
        return replace(ask, route=release).shown(show_release, **more)
    return ask.shown(show_schedule, **more)


def entity_of(text: str) -> dict[str, str]:
    kind, mark, number = text.partition("/")
    if not (kind and mark and number):
        raise InvalidField(
            "bad_value", f"{text!r} is not an entity", field="entity", hint="write TYPE/ID, such as post/42"
        )
    return {"entity_type": kind, "entity_id": number}


def time_of(text: str) -> dict[str, str]:
    """A time as people type it: the server reads local times and instants."""
    near = text == "now" or (text[:1] in "+-" and text[1:2].isdecimal())
    return {"at": instant(text, "when")} if near else {"local_time": text}


def show_schedule(found: dict[str, Any]) -> None:
    names = (
        "schedule_id", "content_id", "action", "status", "recurrence_rule", "version", "adapter", "note",
        "retry_count", "max_retries", "last_error", "created_by", "approved_by", "cancelled_by", "window_id",
        "release_id",
    )  # fmt: skip
    rows = {name: found[name] for name in names if found[name] != 0}
    rows = {
        **dict(list(rows.items())[:4]),
        "when": found["local_time_display"],
        "utc": found["scheduled_at_utc"],
        **dict(list(rows.items())[4:]),
    }
    if len(found["next_times"]) > 1:
        rows["then"] = ", ".join(found["next_times"][1:])
    if found["skipped_times"]:
        rows["left_out"] = ", ".join(found["skipped_times"])
    if found["executed_at"]:
        rows["executed_at"] = found["executed_at"]
    if found["needs_approval"] and not found["approved_by"]:
        rows["approval"] = f"needed: sexton content approve {found['schedule_id']}"
    show_fields(console(), rows.items())
    for warning in found["warnings"]:
        write(console(error=True), f"{warning}: now it would fail", "yellow")


def show_release(found: dict[str, Any]) -> None:
    out = console()
    names = (
        "release_id", "status", "on_failure", "adapter", "note", "last_error", "created_by", "approved_by",
        "cancelled_by", "executed_at",
    )  # fmt: skip
    rows = {name: found[name] for name in names}
    show_fields(out, {**rows, "when": found["local_time_display"], "utc": found["scheduled_at_utc"]}.items())
    write(out, "")
    table = Table("action", "entity", "status", "id", elastic=("entity",))
    for each in found["items"]:
        style = STYLES[each["status"]]
        table.add(
            each["action"], each["content_id"], each["status"], each["schedule_id"], note=each["error"],
            style=style,
        )  # fmt: skip
    table.print(out)
    for each in found["findings"]:
        write(console(error=True), each["message"], "yellow")


def _show_window(found: dict[str, Any]) -> None:
    show_schedule(found["starts"])
    if found["ends"] is not None:
        write(console(), "")
        show_schedule(found["ends"])
    else:
        write(console(), f"open for {seconds(found['open_seconds'])} each time", "dim")


def _show_all(found: list[dict[str, Any]], status: str) -> None:
    more = "" if status == "all" else "; --status all shows those that are over"
    table = Table("action", "entity", "when", "status", "by", "id", elastic=("entity", "by"), spare=("by",))
    for each in found:
        when = each["local_time_display"].rpartition(" (")[0]
        table.add(
            each["action"], each["content_id"], when + (" ↻" if each["recurrence_rule"] else ""),
            each["status"], each["created_by"], each["schedule_id"],
            note=first_line(each["last_error"]) if each["last_error"] else None,
            style=STYLES[each["status"]],
        )  # fmt: skip
    table.print(none=f"Nothing is planned{more}." if status == "pending" else f"None{more}.")


def show_executions(found: list[dict[str, Any]]) -> None:
    table = Table(
        "action",
        "entity",
        "planned for",
        "status",
        "took",
        "tries",
        "worker",
        elastic=("entity", "worker"),
        spare=("tries", "worker"),
    )
    for each in found:
        times = {"started_at": each["execution_started"], "finished_at": each["execution_finished"]}
        table.add(
            each["action"], each["content_id"], short_time(each["scheduled_at_utc"]), each["status"],
            seconds(took(times)), str(each["retry_count"] + 1) if each["execution_id"] else "-",
            each["worker_id"] or "-",
            note=first_line(each["error_message"]) if each["error_message"] else None,
            style=STYLES[each["status"]],
        )  # fmt: skip
    table.print(none="Nothing was carried out yet.")


def show_times(found: list[dict[str, Any]]) -> None:
    table = Table("when", "action", "status", "before", "after", spare=("before", "after"))
    for each in found:
        around = [short_time(each[name]) if each[name] else "-" for name in ("previous_at", "next_at")]
        when = each["local_time_display"].rpartition(" (")[0]
        table.add(
            when, each["action"], each["status"], *around,
            note=first_line(each["last_error"]) if each["last_error"] else None,
            style=STYLES[each["status"]],
        )  # fmt: skip
    table.print(none="It has no times there.")


def _show_entities(found: list[dict[str, Any]]) -> None:
    table = Table("entity", "state", "published", "latest", "changed", elastic=("entity",))
    for each in found:
        versions = each["published_version"], each["latest_version"]
        table.add(
            f"{each['entity_type']}/{each['entity_id']}", each["state"] or "not known",
            *("-" if number is None else f"v{number}" for number in versions),
            short_time(each["updated_at"]) if each["updated_at"] else "-",
            note=first_line(each["error"]) if each["error"] else None,
        )  # fmt: skip
    table.print(none="No entities: sexton content entities post/1 --body '{}' makes one.")


def _show_entity(found: dict[str, Any]) -> None:
    out = console()
    show_fields(
        out,
        [
            ("entity", f"{found['entity_type']}/{found['entity_id']}"),
            ("state", found["state"] or "not known"),
            ("adapter", found["adapter"]),
            ("published_version", found["published_version"]),
            ("latest_version", found["versions"][0]["version"] if found["versions"] else None),
            ("body", found["body"]),
        ],
    )
    for each in found["elsewhere"]:
        if each["state"] is None:
            write(out, f"{each['adapter']}: {each['error']}", "yellow")
        elif each["adapter"] != found["adapter"]:
            write(out, f"{each['adapter']}: {each['state']}")
    if found["pending"]:
        write(out, "\nplanned:")
        _show_all(found["pending"], "pending")
    if found["executions"]:
        write(out, "\nwhat happened:")
        show_executions(found["executions"])


def show_feeds(found: list[dict[str, Any]]) -> None:
    feeds.show_list(found, "content", _of)


def _of(feed: dict[str, Any]) -> str:
    return " by ".join(text for text in (feed["entity_type"], feed["author"]) if text) or "everything"
