"""`sexton secret`: the secrets that targets name, and the one that webhooks are signed with."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE
from sexton.cli.local import Data, DatabaseUrl, Reason, with_context
from sexton.cli.output import Table, console, write, write_json
from sexton.cli.remote import Json, Yes, confirm, short_time
from sexton.clock import iso
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.postgres.transaction import Context
from sexton.printable import counted
from sexton.security import secrets
from sexton.security.binding import Binding, check_binding, hosts_of
from sexton.targets.http.step import rotate_signing_secret, signing_secret
from sexton.targets.table import kinds

Name = Annotated[str, Parameter(help="The secret's name.")]


def set_(
    name: Name,
    /,
    *,
    host: Annotated[
        list[str] | None, Parameter(help="A host that may get it, or *.example.com. May be repeated.")
    ] = None,
    kind: Annotated[
        list[str] | None, Parameter(help="A kind of target that may use it. May be repeated.")
    ] = None,
    anywhere: Annotated[bool, Parameter(help="Allow any job to send it to any host.", negative="")] = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Store a secret, read from the standard input.

    Targets name it as {"secret": "NAME"} or ${secret:NAME}. A line end at its
    end is removed. On a terminal you are asked for it. Name the hosts that may
    get it; a secret that is an address is for its own hosts.
    """
    value = getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    binding = _binding(name, value, host or [], kind or [], anywhere)

    async def work(context: Context, settings: Settings) -> bool:
        check_binding(binding, kinds())
        return await secrets.keep(
            context, await secrets.with_own_key(context, settings), name, value, binding
        )

    made = with_context(database_url, data, work, reason=reason)
    if json:
        write_json({"name": name, "made": made, "hosts": binding.hosts, "kinds": binding.kinds})
    else:
        kept = "kept" if made else "changed"
        write(console(), f"{name} is {kept} for {binding}: name it as ${{secret:{name}}}")
    return DONE


def list_(*, database_url: DatabaseUrl = None, data: Data = None, json: Json = False) -> int:
    """List the names of secrets. No value is shown."""
    found = with_context(database_url, data, lambda context, _: secrets.names(context))
    if json:
        write_json(msgspec.to_builtins(found))
    else:
        table = Table("secret", "for", "made", "changed", elastic=("secret", "for"))
        for each in found:
            times = (short_time(iso(each[when])) for when in ("created_at", "updated_at"))
            table.add(each["name"], str(Binding(each["hosts"], each["kinds"])), *times)
        table.print(none="No secrets.")
    return DONE


def delete(
    name: Name,
    /,
    *,
    yes: Yes = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Delete a secret. Runs of targets that name it fail until it is set again."""
    if not confirm(f"Delete the secret {name}?", yes):
        return NOT_DONE
    with_context(database_url, data, lambda context, _: secrets.delete(context, name), reason=reason)
    if json:
        write_json({"deleted": name})
    else:
        write(console(), f"{name} is deleted")
    return DONE


def key(*, json: Json = False) -> int:
    """Make a key for SEXTON_SECRET_KEY.

    Every process that runs jobs and every sexton secret set needs the same.
    """
    made = secrets.new_key()
    if json:
        write_json({"key": made})
    else:
        write(console(), made)
    return DONE


def rekey(
    *,
    to: Annotated[
        Path | None, Parameter(help="File with the new key. Default: the private PostgreSQL's key file.")
    ] = None,
    forget: Annotated[
        bool, Parameter(help="Delete the secrets that the old key cannot read.", negative="")
    ] = False,
    yes: Yes = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Encrypt every secret with a new key.

    The new key is made, unless the file of --to holds one. Give it to every
    process, and restart them. A key that is lost cannot be replaced: with
    --forget the secrets that need it are deleted.
    """
    if not confirm("Delete the secrets that the old key cannot read?" if forget else "Change the key?", yes):
        return NOT_DONE

    async def work(context: Context, settings: Settings) -> tuple[int, list[str], Path]:
        source = secrets.key_source(settings)
        own = source != settings.secret_key and source is not None
        if to is None and not own:
            raise InvalidField(
                "no_file", "no file for the new key is given", field="to", hint="add --to FILE"
            )
        path = to or Path((source or "")[1:])
        made = to or path.with_name(path.name + ".new")
        secrets.make_key_file(made)  # keeps an existing file
        if made != path and await interrupted(context, source, made):
            # A process that changed the key died before it could rename the file.
            made.replace(path)
            return 0, [], path
        readable = source is not None and not (source.startswith("@") and not Path(source[1:]).exists())
        count, lost = await secrets.rekey(context, source if readable else None, f"@{made}", forget=forget)
        if made != path:
            made.replace(path)
        return count, lost, path

    count, lost, path = with_context(database_url, data, work, reason=reason)
    if json:
        write_json({"changed": count, "deleted": lost, "file": str(path)})
    else:
        write(console(), f"{counted(count, 'secret')} encrypted with the key in {path}")
        if lost:
            write(console(), f"deleted, to be set again: {', '.join(lost)}")
    return DONE


async def interrupted(context: Context, source: str | None, new: Path) -> bool:
    """Whether a change of the key was interrupted: the new key reads all secrets, the old one does not."""
    lost = await secrets.unreadable(context, source)
    return bool(lost) and not await secrets.unreadable(context, f"@{new}")


def show(*, database_url: DatabaseUrl = None, data: Data = None, json: Json = False) -> int:
    """Show the secret that webhooks are signed with.

    Give it to the services that verify them. While it is being rotated there
    are two: requests are signed with both, the newer one first.
    """
    found = with_context(database_url, data, _signing_secret)
    return _show(_listed(found), json)


def rotate(
    *,
    yes: Yes = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Make a new secret; the old one stays valid for a while.

    Give the new one to your services, then rotate again to retire the old one
    for good: the one before last is forgotten.
    """
    if not confirm("Make a new secret, and forget the one before the present one?", yes):
        return NOT_DONE

    rotated = with_context(database_url, data, _rotate, reason=reason)
    return _show(rotated, json)


def _binding(name: str, value: str, hosts: list[str], kinds: list[str], anywhere: bool) -> Binding:
    """Where a secret may be sent: as given, or to the hosts of the address that it is."""
    if not hosts and not anywhere and "://" in value and "shell" not in kinds:
        hosts = [each for each in hosts_of(value) if each]
    if not hosts and not anywhere and "shell" not in kinds:
        raise InvalidField(
            "no_host",
            f"the secret {name} has no host",
            field="host",
            hint="name who may get it: --host crm.example.com, or --kind shell for commands; "
            "--anywhere lets any job send it to any host",
        )
    return Binding(tuple(hosts), tuple(kinds))


async def _signing_secret(context: Context, settings: Settings) -> Any:
    own = await secrets.with_own_key(context, settings)
    return await signing_secret(context.database, own.secret_key)


async def _rotate(context: Context, settings: Settings) -> list[str]:
    own = await secrets.with_own_key(context, settings)
    return await rotate_signing_secret(context, own.secret_key)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _show(both: list[str], as_json: bool) -> int:
    if as_json:
        write_json({"secret": both[0], "previous": both[1] if len(both) > 1 else None})
    else:
        write(console(), both[0])
        if len(both) > 1:
            write(console(error=True), f"still valid: {both[1]}", "dim")
    return DONE
