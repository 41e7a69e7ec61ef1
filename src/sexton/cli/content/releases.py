"""`sexton content release`: actions that go out together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sexton.api.content import routes
from sexton.cli import many
from sexton.cli.command import Ask, command
from sexton.cli.content.schedules import STYLES, By, TimeArgument, entity_of, show_release, time_of
from sexton.cli.output import Table
from sexton.cli.remote import Yes
from sexton.errors import InvalidField

Items = Annotated[tuple[str, ...], Parameter(name="--item", help="ACTION:TYPE/ID[@VERSION]. Repeatable.")]


@command(routes.CREATE_RELEASE, without=("items", "created_by", "local_time", "at"))
def release(
    ask: Ask,
    when: TimeArgument,
    /,
    *,
    item: Items,
    by: By = None,
) -> int:
    """Plan actions that go out together.

    sexton content release '2027-03-14 09:00' --timezone Europe/Berlin \\
        --item publish:post/42 --item unpublish:banner/7
    """
    items = [_item(text) for text in item]
    return ask.shown(show_release, items=items, **time_of(when), created_by=by)


@command(
    routes.ACT_ON_RELEASES, without=many.HOW, chosen=routes.ReleaseActionFilter,
    names={"created_by": "--created-by"},
)  # fmt: skip
def edit_releases(
    ask: Ask,
    action: Annotated[Literal["cancel", "restore", "approve", "move"], Parameter(help="What to do.")],
    /,
    *,
    dry_run: many.DryRun = False,
    after: many.After = None,
    idempotency_key: many.Key = None,
    yes: Yes = False,
) -> int:
    """Cancel, restore, approve or move many releases.

    sexton content edit-releases move --search spring --days 1
    """
    many.named(ask, None, many.RELEASES)
    return many.act(
        ask, action, many.RELEASES, yes=yes, dry_run=dry_run, after=after, key=idempotency_key, **ask.given
    )


@command(routes.ADD_RELEASE_ITEMS, without=("items",))
def add_items(ask: Ask, *, item: Items) -> int:
    """Add actions at the end of a release.

    sexton content add-items cr_1 --item publish:post/43 --item archive:post/7
    """
    return ask.shown(show_release, items=[_item(text) for text in item])


def _item(text: str) -> dict[str, Any]:
    action, mark, rest = text.partition(":")
    named, at, version = rest.partition("@")
    if not mark or (at and not version.isdecimal()):
        raise InvalidField(
            "bad_value", f"{text!r} is not an item", field="item", hint="such as --item publish:post/42"
        )
    return {"action": action, **entity_of(named), **({"version": int(version)} if at else {})}


def show_all(found: list[dict[str, Any]]) -> None:
    table = Table("release", "when", "status", "items", "by", elastic=("by",))
    for each in found:
        when = each["local_time_display"].rpartition(" (")[0]
        count, style = str(len(each["items"])), STYLES[each["status"]]
        table.add(each["release_id"], when, each["status"], count, each["created_by"], style=style)
    table.print(none="No releases: sexton content release plans one.")
