"""`sexton keys` and `sexton namespaces`: who may do what, and where."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.security import routes
from sexton.cli import DONE
from sexton.cli.command import Ask, command
from sexton.cli.output import Table, console, write
from sexton.cli.remote import Yes, confirm, short_time, show_fields
from sexton.errors import InvalidField
from sexton.security.quota_spec import RANGES


@command(routes.CREATE_KEY)
def create_key(ask: Ask) -> int:
    """Make an API key.

    The key goes to the standard output, what it may do to the standard error. It is not shown again.
    """
    return ask.shown(show_new_key)


@command(routes.REVOKE_KEY)
def revoke_key(ask: Ask, *, yes: Yes = False) -> int:
    """Revoke an API key: it is refused within two seconds."""
    if not confirm(f"Revoke the key {ask.path[0]}? Whatever uses it stops working.", yes):
        return DONE
    return ask.shown(lambda key: write(console(), f"{key['name']} ({key['key_id']}) is revoked"))


@command(routes.CREATE_NAMESPACE)
def create_namespace(
    ask: Ask, name: Annotated[str, Parameter(help="Lower-case letters, digits and hyphens.")], /
) -> int:
    """Make a namespace."""
    return replace(ask, given={**ask.given, "name": name}).shown(
        lambda made: write(
            console(),
            f"{made['name']} exists now; make a key for it: "
            f"sexton keys create --name NAME --role editor --namespace {made['name']}",
        )
    )


@command(routes.CHANGE_NAMESPACE)
def set_namespace(
    ask: Ask,
    *,
    unlimited: Annotated[bool, Parameter(help="Remove the quotas that are not given.", negative="")] = False,
) -> int:
    """Set quotas of a namespace.

    Limits that are not given stay, unless --unlimited removes them.
    """
    if not ask.given and not unlimited:
        raise InvalidField(
            "nothing_given",
            "no quota is given",
            field="jobs",
            hint="give --jobs, --live-runs, --firings-per-second, --payload-bytes, --history-days, "
            "--campaign-sends-per-day or --unlimited",
        )
    none = dict.fromkeys(RANGES) if unlimited else {}
    return replace(ask, given={**none, **ask.given}).shown(show_namespace)


def show_new_key(key: dict[str, Any]) -> None:
    until = f" until {short_time(key['expires_at'])}" if key["expires_at"] else ""
    where = "in all namespaces" if key["namespace"] == "*" else f"in the namespace {key['namespace']}"
    print(
        f"{key['name']} ({key['key_id']}) may act as {key['role']} {where}{until}. "
        "This is the only time the key is shown:",
        file=sys.stderr,
    )
    write(console(), key["key"])


def show_keys(keys: list[dict[str, Any]]) -> None:
    table = Table("key", "name", "role", "namespace", "begins", "used", "ends", elastic=("name", "namespace"))
    for key in keys:
        ends = "revoked" if key["revoked_at"] else short_time(key["expires_at"])
        used = short_time(key["last_used_at"])
        table.add(
            key["key_id"], key["name"], key["role"], key["namespace"], key["beginning"], used, ends,
            style="dim" if key["revoked_at"] else "",
        )  # fmt: skip
    table.print(none="No keys: sexton keys create --name NAME --role viewer makes one.")


def show_namespace(found: dict[str, Any]) -> None:
    out = console()
    show_fields(
        out, [(name, value) for name, value in found.items() if name not in ("quotas", "used", "warnings")]
    )
    write(out, "")
    table = Table("quota", "used", "limit")
    used = found["used"] or {}
    for name, limit in found["quotas"].items():
        table.add(name, _number(used.get(name)), _number(limit))
    table.print(out)
    if wait := used.get("firings_wait_seconds"):
        write(out, f"new runs start {wait:.1f} s late, because of firings_per_second", "yellow")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.15g}"


def show_namespaces(found: list[dict[str, Any]]) -> None:
    table = Table("namespace", "made", "description", elastic=("description",))
    for each in found:
        table.add(each["name"], short_time(each["created_at"]), each["description"] or "")
    table.print()
