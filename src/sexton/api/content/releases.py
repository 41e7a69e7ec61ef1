"""Releases and notices of content over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api.content import routes
from sexton.api.content.routes import ApproveRequest, CancelContentRequest, ReleasesQuery
from sexton.api.content.schedules import PLANNED
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import counted
from sexton.api.route import PREFIX
from sexton.content import notice
from sexton.content.notice import NoticeView
from sexton.content.releases import release
from sexton.content.releases import view as release_view
from sexton.content.releases.view import ReleaseView
from sexton.content.spec import NoticeSpec, ReleaseAddition, ReleaseMove, ReleaseSpec

ITEM: dict[str, Any] = {"entity_type": "post", "entity_id": "42", "action": "publish"}
RELEASE_REQUEST: dict[str, Any] = {
    "items": [ITEM, {"entity_type": "banner", "entity_id": "7", "action": "unpublish"}],
    "local_time": "2027-03-14 09:00",
    "timezone": "Europe/Berlin",
    "created_by": "ann",
}
RELEASE_ITEM: dict[str, Any] = {
    "schedule_id": "c_2",
    "content_id": "post/42",
    "title": "Spring collection",
    **ITEM,
    "version": None,
    "note": None,
    "status": "pending",
    "result": None,
    "error": None,
}
RELEASE_ANSWER: dict[str, Any] = {
    "release_id": "cr_1",
    "status": "pending",
    "scheduled_at_utc": "2027-03-14T08:00:00Z",
    "timezone": "Europe/Berlin",
    "local_time_display": "2027-03-14 09:00 CET (Europe/Berlin)",
    "items": [RELEASE_ITEM],
    "on_failure": "undo",
    "preflight_seconds": 3600,
    "checked_at": "2027-03-01T12:00:00Z",
    "findings": [],
    **PLANNED,
    "job_id": "j_1",
    "revision": 1,
}
NOTICES: dict[str, Any] = {
    "url": "https://hooks.example/content",
    "secret": None,
    "events": ["done", "failed", "missed", "will_fail"],
    "job_id": "j_9",
}


@operation(
    routes.CREATE_RELEASE, status=201, answer=ReleaseView, example=RELEASE_REQUEST,
    answer_example=RELEASE_ANSWER,
)  # fmt: skip
async def create_release(call: Call) -> Answer:
    """Actions that go out together. With `builtin` they are one transaction: with `on_failure` undo, all go
    out or none. With another adapter they go out in order; if one fails for good, those that went out are
    undone. `findings` say what would fail now."""
    made = await release.create_release(call.context, call.json(ReleaseSpec), call.services.settings)
    return Answer(made, headers={"Location": f"{PREFIX}/content/releases/{made.release_id}"})


@operation(routes.LIST_RELEASES, lists=True, answer=list[ReleaseView], answer_example=[RELEASE_ANSWER])
async def list_releases(call: Call) -> Answer:
    """In the order of their time."""
    page = await release_view.list_releases(call.reading, **call.filters(ReleasesQuery))
    return await counted(call, page, release_view.count_releases, ReleasesQuery)


@operation(routes.GET_RELEASE, answer=ReleaseView, answer_example=RELEASE_ANSWER)
async def get_release(call: Call) -> Answer:
    """With the result of each item."""
    return Answer(await release_view.get_release(call.reading, call.path("release")))


@operation(
    routes.RESCHEDULE_RELEASE, answer=ReleaseView, example={"local_time": "2027-03-15 09:00"},
    answer_example=RELEASE_ANSWER,
)  # fmt: skip
async def reschedule_release(call: Call) -> Answer:
    """After this answer, it does not go out at the old time."""
    move = call.json(ReleaseMove)
    return Answer(await release.reschedule_release(call.context, call.path("release"), move))


@operation(
    routes.CANCEL_RELEASE, answer=ReleaseView, example={"by": "ann"},
    answer_example={**RELEASE_ANSWER, "status": "cancelled", "cancelled_by": "ann"},
)  # fmt: skip
async def cancel_release(call: Call) -> Answer:
    """After this answer, no further item goes out. What went out stays."""
    wish = call.json(CancelContentRequest, optional=True)
    return Answer(await release.cancel_release(call.context, call.path("release"), by=wish.by))


@operation(routes.RUN_RELEASE, answer=ReleaseView, answer_example=RELEASE_ANSWER)
async def run_release(call: Call) -> Answer:
    """It goes out now instead of at its time."""
    return Answer(await release.run_release(call.context, call.path("release")))


@operation(
    routes.APPROVE_RELEASE, answer=ReleaseView, example={"by": "eve"},
    answer_example={**RELEASE_ANSWER, "needs_approval": True, "approved_by": "eve"},
)  # fmt: skip
async def approve_release(call: Call) -> Answer:
    """A release with `needs_approval` does not go out before it is approved. Changing its items removes the
    approval."""
    wish = call.json(ApproveRequest, optional=True)
    by = wish.by or call.caller.name
    return Answer(await release.approve_release(call.context, call.path("release"), by=by))


@operation(routes.CHECK_RELEASE, kept=False, answer=ReleaseView, answer_example=RELEASE_ANSWER)
async def check_release(call: Call) -> Answer:
    """What would fail if it went out now. `findings` is empty if nothing would."""
    settings = call.services.settings
    return Answer(await release.check_release(call.context, call.path("release"), settings))


@operation(
    routes.ADD_RELEASE_ITEMS, answer=ReleaseView, example={"items": [ITEM]}, answer_example=RELEASE_ANSWER
)
async def add_release_items(call: Call) -> Answer:
    """Items are added at the end, until the release has begun."""
    wish = call.json(ReleaseAddition)
    changed = await release.add_items(call.context, call.path("release"), wish.items, force=wish.force)
    return Answer(changed)


@operation(routes.REMOVE_RELEASE_ITEM, answer=ReleaseView, errors=(409,), answer_example=RELEASE_ANSWER)
async def remove_release_item(call: Call) -> Answer:
    """Possible until the release has begun."""
    return Answer(await release.remove_item(call.context, call.path("release"), call.path("schedule")))


@operation(routes.GET_NOTICES, answer=NoticeView, answer_example=NOTICES)
async def get_notices(call: Call) -> Answer:
    """Where the namespace sends notices about its content."""
    return Answer(await notice.get_notices(call.reading))


@operation(
    routes.SET_NOTICES, answer=NoticeView, example={"url": "https://hooks.example/content"},
    answer_example=NOTICES,
)  # fmt: skip
async def set_notices(call: Call) -> Answer:
    """Authors are told when something went out, failed, was missed, or will fail. Each notice is a run of the
    job `content/notices`: it is signed as in Standard Webhooks, and retried."""
    return Answer(await notice.set_notices(call.context, call.json(NoticeSpec)))


@operation(routes.REMOVE_NOTICES, answer=NoticeView, answer_example={**NOTICES, "url": None})
async def remove_notices(call: Call) -> Answer:
    """Notices that exist already are still sent."""
    await notice.remove_notices(call.context)
    return Answer(NoticeView())
