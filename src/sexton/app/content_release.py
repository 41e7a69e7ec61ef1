"""Releases in `app.content`: actions that go out together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sexton.app.part import AppPart, read_entity, read_fields
from sexton.content.releases import release
from sexton.content.releases import view as release_view
from sexton.content.releases.view import ReleaseView
from sexton.content.spec import ReleaseAddition, ReleaseMove, ReleaseSpec
from sexton.errors import InvalidField
from sexton.postgres.transaction import Context

Releases = list[ReleaseView]


class ReleaseCommands(AppPart):
    """A release is named by its id, `cr_…`; its items have an `entity` (`type/id`) and an `action`, and may
    have a `version` and a `note`."""

    async def release(
        self,
        /,
        items: Iterable[Mapping[str, Any]],
        *,
        local_time: str | None = None,
        at: datetime | None = None,
        timezone: str | None = None,
        on_failure: str | None = None,
        **fields: Any,
    ) -> ReleaseView:
        """Plan actions that go out together, each with an `entity` (`type/id`) and an `action`, and
        optionally a `version` and a `note`; `fields` are those of `POST /content/releases`:
        `preflight_seconds`, `needs_approval`, `adapter`, `force`, …. `findings` say what would fail now.

            made = await app.content.release(
                [{"entity": "post/50", "action": "publish"}, {"entity": "post/7", "action": "archive"}],
                local_time="2099-03-14 09:00", timezone="Europe/Berlin", on_failure="undo",
            )
            print(made.release_id, made.status, [each.message for each in made.findings])
        """
        given = {
            "items": _items(items),
            "local_time": local_time,
            "at": at,
            "timezone": timezone,
            "on_failure": on_failure,
            **fields,
        }

        async def make(context: Context) -> ReleaseView:
            spec = read_fields(ReleaseSpec, given)
            return await release.create_release(context, spec, self._app.settings)

        return await self._app._call(make)

    async def get_release(self, release_id: str) -> ReleaseView:
        """A release as it is now, with the result of each item; raises `NotFound`."""
        return await self._app._call(release_view.get_release, release_id)

    async def list_releases(self, /, *, limit: int = 100, **filters: Any) -> Releases:
        """Releases in the order of their time, by `created_by`, and from `start` up to `end`."""
        return await self._pages(release_view.list_releases, limit, **filters)

    async def check_release(self, release_id: str) -> ReleaseView:
        """Check what would fail if it went out now: see `findings`."""
        return await self._app._call(release.check_release, release_id, self._app.settings)

    async def reschedule_release(
        self,
        /,
        release_id: str,
        *,
        local_time: str | None = None,
        at: datetime | None = None,
        timezone: str | None = None,
        **fields: Any,
    ) -> ReleaseView:
        """Move a release. After this returns, it does not go out at the old time."""
        given = {"local_time": local_time, "at": at, "timezone": timezone, **fields}
        return await self._app._call(release.reschedule_release, release_id, read_fields(ReleaseMove, given))

    async def cancel_release(self, release_id: str, *, by: str | None = None) -> ReleaseView:
        """Cancel a release. What went out stays."""
        return await self._app._call(release.cancel_release, release_id, by=by)

    async def run_release(self, release_id: str) -> ReleaseView:
        """Carry a release out now instead of at its time."""
        return await self._app._call(release.run_release, release_id)

    async def approve_release(self, release_id: str, *, by: str) -> ReleaseView:
        """Approve a release with `needs_approval`. Changing its items removes the approval."""
        return await self._app._call(release.approve_release, release_id, by=by)

    async def add_items(
        self, release_id: str, items: Iterable[Mapping[str, Any]], *, force: bool = False
    ) -> ReleaseView:
        """Add actions at the end of a release that has not begun."""
        wish = read_fields(ReleaseAddition, {"items": _items(items)})
        return await self._app._call(release.add_items, release_id, wish.items, force=force)

    async def remove_item(self, release_id: str, schedule_id: str) -> ReleaseView:
        """Remove an action from a release that has not begun."""
        return await self._app._call(release.remove_item, release_id, schedule_id)


def _items(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_item(f"items[{place}]", item) for place, item in enumerate(items)]


def _item(field: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """`entity` stands for `entity_type` and `entity_id`."""
    if not isinstance(item, Mapping):
        raise InvalidField(
            "bad_value",
            f"{item!r} is not an item",
            field=field,
            hint='write {"entity": "post/42", "action": "publish"}',
        )
    rest = {name: value for name, value in item.items() if name != "entity"}
    if "entity" not in item:
        return rest
    named = read_entity(item["entity"], f"{field}.entity")
    return {**rest, "entity_type": named.type, "entity_id": named.id}
