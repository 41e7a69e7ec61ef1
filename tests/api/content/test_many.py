"""Many planned actions and releases over HTTP: counted, cancelled, restored, approved and moved together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.content.test_schedules import plan
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key

Act = Callable[..., Awaitable[Reply]]
ITEMS = [
    {"entity_type": "post", "entity_id": "42", "action": "publish"},
    {"entity_type": "post", "entity_id": "43", "action": "publish"},
]


async def act(api: Api, action: str, chosen: dict[str, Any], **fields: Any) -> Reply:
    return await api("POST", "/content/schedules/actions", {"action": action, "filter": chosen, **fields})


async def act_on_releases(api: Api, action: str, chosen: dict[str, Any], **fields: Any) -> Reply:
    return await api("POST", "/content/releases/actions", {"action": action, "filter": chosen, **fields})


async def status(api: Api, made: dict[str, Any]) -> str:
    return str((await api("GET", f"/content/schedules/{made['schedule_id']}")).json()["status"])


async def release(api: Api, note: str, at: str = "2099-03-27T09:00:00Z", **fields: Any) -> str:
    wish = {"items": ITEMS, "at": at, "created_by": "ann", "note": note, "force": True, **fields}
    made = await api("POST", "/content/releases", wish)
    assert made.status == 201, made.content
    return str(made.json()["release_id"])


async def test_those_to_come_are_counted_and_cancelled(api: Api) -> None:
    banners = [await plan(api, entity_type="banner", entity_id=str(number)) for number in range(3)]
    post = await plan(api)
    assert (await api("POST", f"/content/schedules/{banners[0]['schedule_id']}/cancel")).status == 200
    counted = (await act(api, "cancel", {"entity_type": "banner"}, dry_run=True)).json()
    assert (counted["dry_run"], counted["matched"], counted["done"], counted["estimated"]) == (
        True, 2, 0, False,
    )  # fmt: skip
    assert [(each["id"], each["name"], each["status"]) for each in counted["sample"]] == [
        (each["schedule_id"], f"publish banner/{number}", "pending")
        for number, each in enumerate(banners)
        if number
    ]
    late = await act(api, "cancel", {"entity_type": "banner"}, expected=1)
    assert (late.status, late.json()["code"]) == (409, "count_changed")
    assert await status(api, banners[1]) == "pending"
    done = (await act(api, "cancel", {"entity_type": "banner"}, expected=2)).json()
    assert (done["matched"], done["done"], done["refused"], done["cursor"]) == (2, 2, [], None)
    assert done["ids"] == [banners[1]["schedule_id"], banners[2]["schedule_id"]]
    assert [await status(api, each) for each in (*banners, post)] == [*["cancelled"] * 3, "pending"]


async def test_a_call_goes_on_where_the_one_before_ended(api: Api) -> None:
    made = [await plan(api, entity_id=str(number)) for number in range(5)]
    found, after = [], None
    while True:
        chunk = (await act(api, "cancel", {"status": "pending"}, limit=2, after=after)).json()
        found.append(chunk["ids"])
        after = chunk["cursor"]
        if after is None:
            break
    assert [len(ids) for ids in found] == [2, 2, 1]
    assert [ref for ids in found for ref in ids] == [each["schedule_id"] for each in made]


async def test_one_that_is_refused_does_not_keep_the_others(api: Api) -> None:
    first, off = await plan(api), await plan(api, entity_id="43")
    item = (await api("GET", f"/content/releases/{await release(api, 'spring')}")).json()["items"][0]
    await api("POST", f"/content/schedules/{off['schedule_id']}/cancel")
    ids = [first["schedule_id"], off["schedule_id"], item["schedule_id"], "c_999"]
    assert (await act(api, "approve", {"ids": ids}, dry_run=True)).json()["matched"] == 0
    told = (await act(api, "move", {"ids": ids}, days=1)).json()
    assert (told["matched"], told["done"], told["ids"]) == (4, 1, [first["schedule_id"]])
    refused = {each["code"]: each for each in told["refused"]}
    assert {code: each["items"] for code, each in refused.items()} == {
        "content_cancelled": 1, "in_release": 1, "schedule_not_found": 1,
    }  # fmt: skip
    assert refused["in_release"]["sample"] == [item["schedule_id"]]


async def test_a_move_follows_the_wall_clock_by_days_and_the_time_by_minutes(api: Api) -> None:
    """From Saturday to Sunday the clock goes forward in Berlin."""
    made = await plan(api, local_time="2099-03-28 09:00")
    ref = made["schedule_id"]
    assert made["scheduled_at_utc"] == "2099-03-28T08:00:00Z"
    assert (await act(api, "move", {"ids": [ref]}, days=1)).json()["done"] == 1
    shown = (await api("GET", f"/content/schedules/{ref}")).json()
    assert (shown["scheduled_at_utc"], shown["timezone"]) == ("2099-03-29T07:00:00Z", "Europe/Berlin")
    assert (await act(api, "move", {"ids": [ref]}, minutes=-1440)).json()["done"] == 1
    shown = (await api("GET", f"/content/schedules/{ref}")).json()
    assert shown["scheduled_at_utc"] == "2099-03-28T07:00:00Z"
    for bad in ({}, {"days": 0}):
        assert (await act(api, "move", {"ids": [ref]}, **bad)).json()["field"] == "days"
    assert (await act(api, "cancel", {"ids": [ref]}, days=1)).json()["field"] == "days"
    gap = await plan(api, entity_id="50", local_time="2099-03-28 02:30")
    told = (await act(api, "move", {"ids": [gap["schedule_id"]]}, days=1)).json()
    assert [each["code"] for each in told["refused"]] == ["nonexistent_time"]
    series = await plan(api, entity_id="51", recurrence_rule="FREQ=DAILY")
    told = (await act(api, "move", {"ids": [series["schedule_id"]]}, days=1)).json()
    assert [each["code"] for each in told["refused"]] == ["is_a_series"]


async def move_all(act_on: Act, api: Api, **distance: int) -> list[str]:
    """In chunks of two; the ids, in the order in which they were moved."""
    moved: list[str] = []
    after = None
    for _ in range(4):
        told = (await act_on(api, "move", {"created_by": "ann"}, limit=2, after=after, **distance)).json()
        moved += told["ids"]
        assert told["refused"] == []
        if (after := told["cursor"]) is None:
            return moved
    raise AssertionError(f"it has not come to an end: {moved}")


async def test_each_is_moved_once_by_calls_that_go_on_from_each_other(api: Api) -> None:
    """Moved to a later time, an action comes after those that are still to be moved."""
    made = [
        (await plan(api, entity_id=str(day), local_time=f"2099-03-{day} 09:00"))["schedule_id"]
        for day in range(10, 15)
    ]
    assert await move_all(act, api, days=1) == made[::-1]
    assert await move_all(act, api, days=-2, minutes=5) == made
    shown = [(await api("GET", f"/content/schedules/{each}")).json()["scheduled_at_utc"] for each in made]
    assert shown == [f"2099-03-{day:02}T08:05:00Z" for day in range(9, 14)]
    releases = [await release(api, str(day), at=f"2099-04-{day}T09:00:00Z") for day in range(10, 13)]

    async def act_with_force(api: Api, action: str, chosen: dict[str, Any], **fields: Any) -> Reply:
        return await act_on_releases(api, action, chosen, force=True, **fields)

    assert await move_all(act_with_force, api, minutes=24 * 60) == releases[::-1]


async def test_both_ends_of_a_window_are_moved(api: Api) -> None:
    """Also by more than the window is long, whichever is named first."""
    wish = {
        "entity_type": "banner", "entity_id": "7", "starts": "2099-03-15 09:00", "ends": "2099-03-15 17:00",
        "timezone": "Europe/Berlin", "created_by": "ann",
    }  # fmt: skip
    made = (await api("POST", "/content/windows", wish)).json()
    ends = [made[end]["schedule_id"] for end in ("starts", "ends")]
    chosen: list[dict[str, Any]] = [{"ids": ends}, {"ids": ends[::-1]}, {"all": True}]
    for each in chosen:
        for days in (1, -1):
            told = (await act(api, "move", each, days=days)).json()
            assert (told["done"], told["refused"]) == (2, []), (each, days)


async def test_a_dry_run_counts_from_where_an_earlier_call_ended(api: Api) -> None:
    for number in range(3):
        await plan(api, entity_id=str(number))
    after = (await act(api, "move", {"all": True}, days=-1, limit=1)).json()["cursor"]
    for day in (1, -1):
        counted = (await act(api, "move", {"all": True}, days=day, dry_run=True)).json()
        assert counted["matched"] == 3
    counted = (await act(api, "move", {"all": True}, days=-1, after=after, dry_run=True)).json()
    assert counted["matched"] == 2
    assert (await act(api, "move", {"all": True}, days=-1, after=after, expected=2)).json()["done"] == 2


async def test_what_needs_approval_is_approved_together(api: Api) -> None:
    needed = [await plan(api, entity_id=str(number), needs_approval=True) for number in range(2)]
    await plan(api, entity_id="7")
    done = (await act(api, "approve", {"all": True})).json()
    assert done["ids"] == [each["schedule_id"] for each in needed]
    shown = (await api("GET", f"/content/schedules/{needed[0]['schedule_id']}")).json()
    assert shown["approved_by"]
    assert (await act(api, "approve", {"all": True})).json()["matched"] == 0


async def test_what_was_cancelled_is_restored_as_it_was(api: Api) -> None:
    once = await plan(api, needs_approval=True)
    series = await plan(api, entity_id="8", recurrence_rule="FREQ=DAILY")
    await act(api, "approve", {"ids": [once["schedule_id"]]})
    before = [
        (await api("GET", f"/content/schedules/{each['schedule_id']}")).json() for each in (once, series)
    ]
    off = (await act(api, "cancel", {"all": True})).json()
    assert off["done"] == 2
    job = await api("POST", f"/jobs/{once['job_id']}/restore")
    assert (job.status, job.json()["code"]) == (409, "not_restorable"), "it comes back with its action"
    back = (await act(api, "restore", {"ids": off["ids"]})).json()
    assert (back["done"], back["refused"]) == (2, [])
    for each in before:
        after = (await api("GET", f"/content/schedules/{each['schedule_id']}")).json()
        changed = {name for name in each if each[name] != after[name]}
        assert changed == {"revision"}
    assert [each["action"] for each in (await api("GET", "/audit?action=content.restored")).json()] == [
        "content.restored"
    ] * 2
    assert (await act(api, "restore", {"ids": off["ids"]})).json()["done"] == 2, "twice is once"


async def test_a_window_is_restored_whole(api: Api) -> None:
    wish = {
        "entity_type": "banner", "entity_id": "7", "starts": "2099-03-15 09:00", "ends": "2099-03-15 17:00",
        "timezone": "Europe/Berlin", "created_by": "ann",
    }  # fmt: skip
    made = (await api("POST", "/content/windows", wish)).json()
    off = (await act(api, "cancel", {"ids": [made["window_id"]]})).json()
    assert [await status(api, made[end]) for end in ("starts", "ends")] == ["cancelled"] * 2
    assert (await act(api, "restore", {"ids": off["ids"]})).json()["done"] == 1
    assert [await status(api, made[end]) for end in ("starts", "ends")] == ["pending"] * 2


async def test_what_is_over_or_contradicts_stays_cancelled(api: Api, database: Database) -> None:
    over, taken = await plan(api), await plan(api, entity_id="43")
    off = (await act(api, "cancel", {"all": True})).json()["ids"]
    other = await plan(api, entity_id="43")
    # An hour that has gone by, as far as the job knows.
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                "update sexton.jobs set schedule = '2020-01-01T00:00:00Z', deleted_as = jsonb_set("
                "deleted_as, '{next_at}', '\"2020-01-01T00:00:00+00:00\"') where name = $1"
            ),
            f"content/{over['schedule_id']}",
        )
    told = (await act(api, "restore", {"ids": off})).json()
    assert {each["code"] for each in told["refused"]} == {"time_over", "content_conflict"}
    assert [await status(api, each) for each in (over, taken, other)] == ["cancelled", "cancelled", "pending"]
    forced = (await act(api, "restore", {"ids": [taken["schedule_id"]]}, force=True)).json()
    assert forced["done"] == 1


async def test_releases_are_moved_cancelled_and_restored(api: Api) -> None:
    refs = [await release(api, "spring one"), await release(api, "spring two", needs_approval=True)]
    other = await release(api, "autumn")
    told = (await act_on_releases(api, "move", {"search": "spring"}, days=2, force=True)).json()
    assert told["ids"] == refs[::-1]
    first = await api("GET", "/content/releases?limit=1&search=spring")
    assert first.headers["sexton-total"] == "2"
    moved = (await api("GET", f"/content/releases/{refs[0]}")).json()
    assert moved["scheduled_at_utc"] == "2099-03-29T09:00:00Z"
    assert (await act_on_releases(api, "approve", {"all": True})).json()["ids"] == [refs[1]]
    item = moved["items"][0]["schedule_id"]
    assert (await api("DELETE", f"/content/releases/{refs[0]}/items/{item}")).status == 200
    off = (await act_on_releases(api, "cancel", {"search": "spring"}, expected=2)).json()
    assert off["ids"] == refs
    assert (await api("GET", f"/content/releases/{other}")).json()["status"] == "pending"
    back = (await act_on_releases(api, "restore", {"search": "spring"})).json()
    assert (back["ids"], back["refused"][0]["code"]) == (refs[:1], "content_conflict")
    back = (await act_on_releases(api, "restore", {"search": "spring"}, force=True)).json()
    assert back["ids"] == refs[1:]
    shown = (await api("GET", f"/content/releases/{refs[0]}")).json()
    assert (shown["status"], shown["cancelled_at"]) == ("pending", None)
    assert [each["status"] for each in shown["items"]] == ["cancelled", "pending"], "taken out stays out"


async def test_a_filter_says_what_is_meant(api: Api) -> None:
    for act_on in (act, act_on_releases):
        assert (await act_on(api, "cancel", {})).json()["code"] == "bad_filter"
        refused = await act_on(api, "cancel", {"ids": ["c_1"], "created_by": "ann"})
        assert (refused.status, refused.json()["field"]) == (422, "filter.ids")
        assert (await act_on(api, "cancel", {"ids": ["c_1"] * 201})).json()["code"] == "bad_value"
        naive = await act_on(api, "cancel", {"start": "2099-03-01T00:00:00"})
        assert naive.status == 422
    assert (await act(api, "cancel", {"all": True}, limit=201)).status == 422


async def test_an_editor_may_and_a_viewer_may_not(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        viewer = await make_key(api, Role.VIEWER)
        editor = await make_key(api, Role.EDITOR)
        for path in ("/content/schedules/actions", "/content/releases/actions"):
            wish = {"action": "cancel", "filter": {"all": True}, "dry_run": True}
            assert (await api("POST", path, wish, headers=viewer)).status == 403
            assert (await api("POST", path, wish, headers=editor)).status == 200
            assert (await api("POST", path, wish, headers=ADMIN)).status == 200
