"""`sexton login`, `sexton whoami` and `sexton sessions`: signing browsers in and out."""

from __future__ import annotations

import sys
from typing import Any

from sexton.api.security import routes
from sexton.cli import DONE
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Yes, confirm, short_time, show_fields


@command(routes.MAKE_LINK)
def login(ask: Ask) -> int:
    """Print a link that signs a browser in, once.

    The browser may then do what you may: what your key may, or, without keys, the user who runs the server.
    The link goes to the standard output.
    """
    return ask.shown(_show_link)


@command(routes.END_ONE_SESSION)
def end(ask: Ask) -> int:
    """End a session: its browser is signed out within two seconds."""
    ask()
    if ask.json:
        write_json({"session_id": ask.path[0], "ended": True})
    else:
        write(console(), f"{ask.path[0]} has ended")
    return DONE


@command(routes.END_SESSIONS)
def end_all(ask: Ask, *, yes: Yes = False) -> int:
    """End all your sessions, or those of one person."""
    whose = f"of {ask.given['name']}" if "name" in ask.given else "of yours"
    if not confirm(f"End all sessions {whose}?", yes):
        return DONE
    return ask.shown(lambda answer: write(console(), f"{_counted(answer['ended'])} {whose} ended"))


def _show_link(link: dict[str, Any]) -> None:
    until = short_time(link["expires_at"])
    print(f"Open this link in a browser. It works once, until {until}:", file=sys.stderr)
    write(console(), link["url"])


def show_caller(caller: dict[str, Any]) -> None:
    roles = ", ".join(
        f"{role} in {'all namespaces' if name == '*' else name}" for name, role in caller["roles"].items()
    )
    show_fields(console(), [("name", caller["name"]), ("told by", caller["method"]), ("roles", roles)])


def show_sessions(found: list[dict[str, Any]]) -> None:
    table = Table(
        "session", "name", "by", "from", "began", "used", "ends", elastic=("name",), spare=("from", "began")
    )
    for each in found:
        times = [short_time(each[name]) for name in ("created_at", "used_at", "expires_at")]
        table.add(each["session_id"], each["name"], each["method"], each["address"] or "-", *times)
    table.print(none="No browser is signed in: sexton login makes a link for one.")


def _counted(number: int) -> str:
    return "1 session" if number == 1 else f"{number} sessions"
