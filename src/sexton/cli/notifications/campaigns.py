"""`sexton campaigns`: create, check, start, pause, stop and watch campaigns."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from sexton import clock
from sexton.api.notifications import campaign_routes as routes
from sexton.cli import DONE, NOT_DONE, many
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write_json
from sexton.cli.remote import Yes, read_json, read_text, short_time, show_fields
from sexton.errors import InvalidField

BAR = 40
LOOK_SECONDS = 1.0
STYLES = {
    "draft": "dim", "scheduled": "", "preparing": "", "prepared": "", "sending": "green", "waiting": "yellow",
    "paused": "yellow", "done": "green", "cancelled": "dim", "failed": "red",
}  # fmt: skip
OVER = ("done", "cancelled", "failed")
Campaign = Annotated[
    str | None, Parameter(help="The campaign's id, k_…. Without one: all that match a filter.")
]
COUNTS = ("sent", "failed", "suppressed", "expired", "unconfirmed", "cancelled", "left")


@command(routes.CREATE_CAMPAIGN, without=("audience", "window"))
def create(
    ask: Ask,
    *,
    everyone: Annotated[bool, Parameter(name="--everyone", help="Send to all recipients.")] = False,
    segment: Annotated[
        str | None, Parameter(name="--segment", help="Send to the recipients of a saved segment.")
    ] = None,
    list_: Annotated[
        str | None, Parameter(name="--list", help="Send to the recipients of an uploaded list.")
    ] = None,
    user: Annotated[
        tuple[str, ...], Parameter(name="--user", help="Send to this recipient. Repeatable.")
    ] = (),
    filter_: Annotated[
        str | None, Parameter(name="--filter", help="Send to the recipients that match this filter, as JSON.")
    ] = None,
    sql: Annotated[
        str | None,
        Parameter(name="--sql", help="Send to the recipients that this SQL query finds; or @FILE."),
    ] = None,
    window: Annotated[
        str | None,
        Parameter(name="--window", help="Send only at these local times of a recipient: 09:00-20:00."),
    ] = None,
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", help="Only show how many it would reach, and when.")
    ] = False,
) -> int:
    """Make a campaign.

    sexton campaigns create --name spring --template-id spring --segment customers \\
        --local-time '2027-03-14 08:00'
    """
    audience: dict[str, Any] = {
        "everyone": everyone or None,
        "segment": segment,
        "list": list_,
        "user_ids": list(user) or None,
        "filter": None if filter_ is None else read_json(filter_, "filter"),
        "sql": None if sql is None else read_text(sql, "sql"),
    }
    more: dict[str, Any] = {
        "audience": {name: value for name, value in audience.items() if value is not None}
    }
    if window is not None:
        more["window"] = _window(window)
    if dry_run:
        return replace(ask, route=routes.PREVIEW_CAMPAIGN).shown(show_check, **more)
    return ask.shown(show, **more)


@command(routes.START_CAMPAIGN, chosen=routes.CampaignActionFilter)
def start(ask: Ask, campaign: Campaign = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Start campaigns: at their time, or at once if they have none.

    One by its id, or all drafts that match the filters, after you have confirmed
    how many they are.
    """
    return _act(ask, "start", campaign, yes=yes, dry_run=dry_run)


@command(routes.PAUSE_CAMPAIGN, chosen=routes.CampaignActionFilter)
def pause(ask: Ask, campaign: Campaign = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Pause campaigns: no further batch begins.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    return _act(ask, "pause", campaign, yes=yes, dry_run=dry_run)


@command(routes.RESUME_CAMPAIGN, chosen=routes.CampaignActionFilter)
def resume(ask: Ask, campaign: Campaign = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Resume campaigns that are paused, late, or at their canary.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    return _act(ask, "resume", campaign, yes=yes, dry_run=dry_run)


@command(routes.CANCEL_CAMPAIGN, chosen=routes.CampaignActionFilter)
def cancel(ask: Ask, campaign: Campaign = None, /, *, dry_run: many.DryRun = False, yes: Yes = False) -> int:
    """Cancel campaigns: nothing more goes out.

    One by its id, or all that match the filters, after you have confirmed how many
    they are.
    """
    return _act(ask, "cancel", campaign, yes=yes, dry_run=dry_run)


@command(routes.GET_CAMPAIGN)
def status(
    ask: Ask,
    *,
    watch: Annotated[
        bool, Parameter(name="--watch", help="Wait until it ends or needs a decision. Exit code 1: not sent.")
    ] = False,
) -> int:
    """Show the state of a campaign; with --watch, as it changes."""
    if not watch:
        return ask.shown(show)
    live = sys.stdout.isatty() and not ask.json
    shown = ""
    while True:
        found = ask()
        if ask.json:
            write_json(found)
        elif (line := bar(found)) != shown:
            shown = line
            print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", flush=True)
        if found["status"] in (*OVER, "waiting", "paused", "draft"):
            break
        clock.block(LOOK_SECONDS)
    if live:
        print()
    if not ask.json:
        show(found)
    return DONE if found["status"] == "done" else NOT_DONE


def _act(ask: Ask, action: str, campaign: str | None, *, yes: bool, dry_run: bool) -> int:
    return many.act_alike(ask, campaign, action, show, many.CAMPAIGNS, yes=yes, dry_run=dry_run)


def bar(found: dict[str, Any]) -> str:
    """A line with the progress of a campaign."""
    counts = found["counts"]
    total, left = counts["total"], counts["left"]
    done = total - left
    filled = BAR * done // total if total else 0
    parts = [f"[{'#' * filled}{'.' * (BAR - filled)}]", f"{done:,} of {total:,}"]
    if total:
        parts.append(f"{100 * done // total} %")
    parts.append(found["status"])
    if found["per_second"]:
        parts.append(f"{found['per_second']:,.0f}/s")
    if found["eta"]:
        parts.append(f"ends about {short_time(found['eta'])}")
    parts += [f"{counts[name]:,} {name}" for name in ("failed", "unconfirmed") if counts[name]]
    return "  ".join(parts)


def show(found: dict[str, Any]) -> None:
    out = console()
    counts = found["counts"]
    when = found["local_time"] and f"{found['local_time']} in each zone (past: {found['when_past']})"
    fields: list[tuple[str, Any]] = [
        ("campaign", f"{found['campaign_id']}  {found['name']}"),
        ("status", found["status"] + (f": {found['reason']}" if found["reason"] else "")),
        ("when", when or (found["send_at"] and short_time(found["send_at"])) or "when it is started"),
        (
            "sends",
            f"{found['template_id']} (version {found['template_version']}) by {', '.join(found['channels'])}",
        ),
        ("messages", f"{counts['total']:,}"),
        *((name, f"{counts[name]:,}") for name in COUNTS if counts[name] or name in ("sent", "left")),
    ]
    if found["per_second"] is not None:
        fields.append(("speed", f"{found['per_second']:,.1f} per second"))
    if found["rate"] is not None:
        fields.append(("at most", f"{found['rate']:,g} per second"))
    if found["eta"] is not None:
        fields.append(("ends about", short_time(found["eta"])))
    if found["waits_for"] is not None:
        fields.append(("waits for", found["waits_for"]))
    show_fields(out, fields)


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("campaign", "name", "status", "sent", "left", "of", elastic=("name",))
    for each in found:
        counts = each["counts"]
        table.add(
            each["campaign_id"], each["name"], each["status"], f"{counts['sent']:,}", f"{counts['left']:,}",
            f"{counts['total']:,}", style=STYLES[each["status"]],
        )  # fmt: skip
    table.print(none="No campaigns: sexton campaigns create makes one.")


def show_check(found: dict[str, Any]) -> None:
    out = console()
    if found["zones"]:
        table = Table("zone", "when", "recipients", "note", elastic=("note",))
        for zone in found["zones"]:
            note = zone["note"] and ", ".join(f"{name}: {value}" for name, value in zone["note"].items())
            when = "not at all" if zone["send_at_utc"] is None else short_time(zone["send_at_utc"])
            table.add(zone["timezone"], when, f"{zone['recipients']:,}", note or "")
        table.print(out)
    fields: list[tuple[str, Any]] = [
        ("recipients", f"{found['recipients']:,}" + ("" if found["whole"] else " so far")),
        ("cannot be reached", f"{found['unreachable']:,}"),
        ("without a variable", f"{found['incomplete']:,}"),
    ]
    fields += [
        (name.replace("_", " "), f"{found[name]:,}")
        for name in ("unknown", "duplicates", "skipped")
        if found[name]
    ]
    if found["missing_variables"]:
        fields.append(("variables of their own", ", ".join(found["missing_variables"])))
    show_fields(out, fields)


def _window(text: str) -> dict[str, str]:
    start, dash, end = text.partition("-")
    if not dash:
        raise InvalidField(
            "bad_value", f"{text!r} is not a window", field="window", hint="such as 09:00-20:00"
        )
    return {"start": start.strip(), "end": end.strip()}
