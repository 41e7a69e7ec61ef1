"""`sexton providers`: who sends notifications, and their health."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.notifications import channel_routes as routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import show_fields

STYLES = {"open": "red", "failing": "yellow", "off": "dim"}


@command(routes.PUT_PROVIDER, without=("enabled",))
def set_(
    ask: Ask,
    *,
    disabled: Annotated[
        bool, Parameter(help="Keep the provider, but send nothing through it.", negative="")
    ] = False,
) -> int:
    """Configure a provider, or change it.

    Options that are not given get their defaults. --config has the settings of the
    kind, as JSON; passwords are secrets: sexton secret set NAME.
    """
    return ask.shown(_show, **({"enabled": False} if disabled else {}))


@command(routes.DELETE_PROVIDER)
def remove(ask: Ask) -> int:
    """Remove a provider.

    Its messages go to the next provider of the channel.
    """
    return ask.shown(lambda _: write(console(), f"{ask.path[0]} is removed"))


@command(routes.TEST_PROVIDER)
def try_out(ask: Ask) -> int:
    """Reach a provider, or send a test message with it.

    The exit code is 1 if it did not work.
    """
    found = ask()
    ask.shown_as(found, _show_trial)
    return DONE if found["success"] else NOT_DONE


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table(
        "channel", "provider", "kind", "state", "accepted", "failed", elastic=("provider",), spare=("kind",)
    )
    for channel in found:
        if not channel["providers"]:
            table.add(channel["channel"], "-", "-", "none", "-", "-", style="dim")
        for each in channel["providers"]:
            table.add(
                channel["channel"], each["name"], each["kind"], each["state"], f"{each['accepted']:,}",
                f"{each['failed'] + each['rejected'] + each['unclear']:,}", note=each["reason"],
                style=STYLES.get(each["state"], ""),
            )  # fmt: skip
    table.print()
    for channel in found:
        if channel["note"]:
            write(console(error=True), f"{channel['channel']}: {channel['note']}", "yellow")


def _show(found: dict[str, Any]) -> None:
    show_fields(console(), list(found.items()))


def _show_trial(found: dict[str, Any]) -> None:
    said = f": {found['detail']}" if found["detail"] else ""
    write(console(), f"{found['outcome']}{said}", "green" if found["success"] else "red")
