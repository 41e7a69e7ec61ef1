"""`sexton content`, against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

pytestmark = pytest.mark.usefixtures("server")

BERLIN = ("--timezone", "Europe/Berlin", "--by", "ann")
NINE = "2099-03-13 09:00"


def plan(sexton: Sexton, entity: str = "post/1", when: str = NINE, *more: str) -> str:
    made = sexton("content", "schedule", "publish", entity, when, *BERLIN, *more, "--json")
    assert made.code == 0, made.err
    return str(made.json()["schedule_id"])


def test_an_action_is_planned_moved_approved_and_cancelled(sexton: Sexton) -> None:
    number = plan(sexton, "post/1", NINE, "--needs-approval", "--note", "spring")
    shown = sexton("content", "show", number).out
    assert f"needed: sexton content approve {number}" in shown
    assert "2099-03-13 09:00 CET (Europe/Berlin)" in shown
    assert sexton("content", "approve", number, "--by", "eve", "--json").json()["approved_by"] == "eve"
    moved = sexton("content", "reschedule", number, "2099-03-14 10:00", "--json").json()
    assert moved["scheduled_at_utc"] == "2099-03-14T09:00:00Z"
    assert "cancelled_by  ann" in sexton("content", "cancel", number, "--by", "ann").out
    again = sexton("content", "run", number)
    assert again.code == 1
    assert "ann has cancelled" in again.err


def test_a_distance_from_now_is_a_time(sexton: Sexton) -> None:
    made = sexton("content", "schedule", "archive", "post/1", "+2h", "--by", "ann", "--json")
    assert made.json()["timezone"] == "UTC"


def test_a_series_leaves_a_time_out_and_a_window_is_two_actions(sexton: Sexton) -> None:
    number = plan(sexton, "post/1", NINE, "--recurrence-rule", "FREQ=DAILY")
    assert "left_out" in sexton("content", "skip", number).out
    once = sexton("content", "reschedule", number, "2099-03-20 09:00", "--once", "--json").json()
    assert once["recurrence_rule"] is None
    opened = sexton("content", "window", "banner/7", NINE, "2099-03-13 17:00", *BERLIN).out
    assert opened.count("window_id") == 2
    ahead = sexton("content", "window", "banner/8", NINE, "2099-03-13 17:00", *BERLIN,
                   "--recurrence-rule", "FREQ=DAILY").out  # fmt: skip
    assert "open for 8 h each time" in ahead


def test_a_release_is_planned_checked_moved_and_cancelled(sexton: Sexton) -> None:
    assert "No releases" in sexton("content", "releases").out
    items = ("--item", "publish:post/1", "--item", "publish:post/2@3")
    made = sexton("content", "release", NINE, *BERLIN, *items, "--json")
    assert made.code == 0, made.err
    number = made.json()["release_id"]
    assert made.json()["items"][1]["version"] == 3
    assert number in sexton("content", "releases").out
    assert "post/2" in sexton("content", "show", number).out
    assert "post/1" in sexton("content", "check", number).err
    moved = sexton("content", "reschedule", number, "2099-03-14 09:00", "--json").json()
    assert moved["scheduled_at_utc"] == "2099-03-14T08:00:00Z"
    assert sexton("content", "approve", number, "--by", "eve", "--json").json()["approved_by"] == "eve"
    assert sexton("content", "cancel", number, "--json").json()["status"] == "cancelled"
    assert sexton("content", "release", NINE, *BERLIN, "--item", "post/1").code == 2


def test_items_come_into_a_release_and_go(sexton: Sexton) -> None:
    made = sexton("content", "release", NINE, *BERLIN, "--item", "publish:post/1", "--json").json()
    ref = made["release_id"]
    more = sexton(
        "content", "add-items", ref, "--item", "publish:post/2@3", "--item", "archive:post/3", "--json"
    )
    items = more.json()["items"]
    assert [(each["content_id"], each["version"]) for each in items[1:]] == [("post/2", 3), ("post/3", None)]
    shown = sexton("content", "remove-item", ref, items[2]["schedule_id"]).out
    assert re.search(r"archive +post/3 +cancelled", shown)
    assert "is in the release twice" in sexton("content", "add-items", ref, "--item", "publish:post/1").err
    assert sexton("content", "add-items", ref).code == 2


def test_the_times_of_a_series_are_listed(sexton: Sexton) -> None:
    number = plan(sexton, "post/1", NINE, "--recurrence-rule", "FREQ=DAILY;COUNT=3")
    shown = sexton("content", "occurrences", number, "--start", "2099-03-14", "--end", "2099-03-16").out
    assert "2099-03-14 09:00 CET" in shown
    assert "2099-03-13 08:00:00Z" in shown
    [first, _] = sexton("content", "occurrences", number, "--start", "2099-03-14", "--end", "2099-03-16",
                        "--json").json()  # fmt: skip
    assert (first["previous_at"], first["next_at"]) == ("2099-03-13T08:00:00Z", "2099-03-15T08:00:00Z")


def test_adapters_are_set_listed_shown_and_removed(sexton: Sexton, tmp_path: Path) -> None:
    assert "No adapters but builtin" in sexton("content", "adapters").out
    config = {"url": "https://cms.example.com", "preset": "ghost", "auth": {"ghost": "${secret:ghost}"}}
    file = tmp_path / "ghost.json"
    file.write_text(json.dumps(config))
    made = sexton("content", "set-adapter", "blog", "--kind", "http", "--config", f"@{file}", "--json")
    assert (made.json()["revision"], made.json()["config"]) == (1, config)
    assert re.search(r"blog +http +https://cms.example.com", sexton("content", "adapters").out)
    assert "${secret:ghost}" in sexton("content", "adapters", "blog").out
    refused = sexton("content", "set-adapter", "blog", "--kind", "http", "--config", '{"url": "ftp://x"}')
    assert refused.code != 0
    assert "is not the address of a site" in refused.err
    assert "removed blog" in sexton("content", "remove-adapter", "blog").out
    assert "adapter" in sexton("content", "remove-adapter", "blog").err


def test_notices_are_set_shown_and_removed(sexton: Sexton) -> None:
    assert "No notices are sent" in sexton("content", "notices").out
    url = "https://hooks.example/content"
    made = sexton("content", "set-notices", "--url", url, "--event", "failed", "--event", "missed", "--json")
    assert made.json()["events"] == ["failed", "missed"]
    assert url in sexton("content", "notices").out
    assert sexton("content", "remove-notices", "--json").json()["url"] is None
    assert "No notices are sent" in sexton("content", "notices").out


def test_entities_elsewhere_say_why_they_are_not_known(sexton: Sexton) -> None:
    config = {"url": "http://127.0.0.1:9", "state": {"path": "/x"}, "publish": {"path": "/x"}}
    sexton("content", "set-adapter", "site", "--kind", "http", "--config", json.dumps(config))
    plan(sexton, "post/1", NINE, "--adapter", "site")
    shown = sexton("content", "entities", "post/1").out
    assert re.search("state +not known", shown)
    assert "site cannot be reached" in shown
    listed = sexton("content", "entities", "--adapter", "site").out
    assert re.search("post/1 +not known", listed)
    assert "site cannot be reached" in listed


def test_the_list_fits_into_80_columns(sexton: Sexton) -> None:
    assert "Nothing is planned" in sexton("content", "list").out
    plan(sexton, "a-very-long-name-of-a-type/" + "x" * 60)
    off = plan(sexton, "post/2", "2099-03-14 09:00")
    sexton("content", "cancel", off)
    listed = sexton("content", "list").out.splitlines()
    assert len(listed) == 2
    assert len(sexton("content", "list", "--status", "all").out.splitlines()) == 3
    assert len(sexton("content", "list", "--status", "cancelled", "--json").json()) == 1
    assert sexton("content", "list", "--created-by", "ben").out.startswith("Nothing is planned")


def test_a_month_and_a_week_fit_into_80_columns(sexton: Sexton) -> None:
    for hour in range(6):
        plan(sexton, f"post/{hour}", f"2099-03-13 1{hour}:00")
    plan(sexton, "ad/1", "2099-03-28 09:00", "--recurrence-rule", "FREQ=DAILY;COUNT=2")
    month = sexton("content", "calendar", "--month", "2099-03", "--timezone", "Europe/Berlin").out
    lines = month.splitlines()
    assert lines[0] == "March 2099   Europe/Berlin (CET, CEST)"
    assert all(len(line) <= 80 for line in lines)
    assert "|1000+0    |" in month
    assert "3 more" in month
    assert month.count("0900+ad/1") == 2
    week = sexton("content", "calendar", "--week", "2099-03-28", "--timezone", "Europe/Berlin").out
    assert week.startswith("23 March to 29 March 2099   Europe/Berlin")
    assert re.search(r"^Sun 29 March\n  09:00 ↻ publish   ad/1 +pending +ann$", week, re.MULTILINE)
    assert all(len(line) <= 80 for line in week.splitlines())
    entries = sexton("content", "calendar", "--month", "2099-03", "--json").json()
    assert len(entries) == 8


def test_entities_are_written_listed_and_shown(sexton: Sexton) -> None:
    assert "No entities" in sexton("content", "entities").out
    made = sexton("content", "entities", "post/1", "--body", '{"title": "Spring"}', "--by", "ann")
    assert made.code == 0, made.err
    assert '{"title": "Spring"}' in made.out
    plan(sexton)
    shown = sexton("content", "entities", "post/1").out
    assert "draft" in shown
    assert "planned:" in shown
    [line] = sexton("content", "entities", "--type", "post").out.splitlines()[1:]
    assert line.split()[:4] == ["post/1", "draft", "-", "v1"]
    assert sexton("content", "entities", "--body", "{}").code == 2
    assert "Nothing was carried out" in sexton("content", "executions").out


def test_feeds_are_made_listed_and_revoked(sexton: Sexton, server: Server) -> None:
    assert "No feeds" in sexton("content", "feeds").out
    made = sexton("content", "add-feed", "--name", "Ann", "--author", "ann")
    name, address = made.out.splitlines()
    assert name.startswith("Ann (f_")
    assert address.startswith(f"{server.url}/api/v1/content/feeds/")
    assert "shown only once" in made.err
    [feed] = sexton("content", "feeds", "--json").json()
    assert f"revoked Ann ({feed['feed_id']})" in sexton("content", "revoke-feed", feed["feed_id"]).out
    assert "revoked" in sexton("content", "feeds").out


def line(number: int, **fields: Any) -> str:
    given = {"entity_type": "post", "entity_id": number, "action": "publish", "created_by": "ann"}
    return json.dumps({**given, "at": "2099-03-13T08:00:00Z", **fields}) + "\n"


def test_a_file_is_imported_and_what_is_wrong_is_told_by_line(sexton: Sexton, tmp_path: Path) -> None:
    file = tmp_path / "plans.jsonl"
    file.write_text(line(1) + line(2) + line(3, action="burn") + line(4))
    result = sexton("content", "import", str(file), "--chunk", "2")
    assert (result.code, result.out) == (1, "2 actions planned, 1 line refused\n")
    assert "line 3: " in result.err
    assert "Of each 2 lines" in result.err
    told = sexton("content", "import", str(file), "--chunk", "2", "--json").json()
    assert (told["created"], [each["line"] for each in told["errors"]]) == (0, [1, 2, 3])
    assert sexton("content", "import", str(file), "--chunk", "9999").code == 2


def test_csv_is_imported_in_chunks(sexton: Sexton, tmp_path: Path) -> None:
    file = tmp_path / "plans.csv"
    rows = [f"post,{number},publish,ann,2099-03-13T08:00:00Z" for number in range(5)]
    rows[3] = "post,3,publish,ann,soon"
    file.write_text("\n".join(["entity_type,entity_id,action,created_by,at", *rows]) + "\n")
    told = sexton("content", "import", str(file), "--chunk", "2", "--json").json()
    assert (told["created"], [each["line"] for each in told["errors"]]) == (3, [5])
    result = sexton("content", "import", "-", stdin="entity_type,color\npost,red\n")
    assert result.code == 2
    assert "no column 'color'" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["schedule", "publish", "post", NINE], 2, "TYPE/ID"),
        (["schedule", "publish", "post/1", NINE], 2, "timezone"),
        (["schedule", "burn", "post/1", NINE], 2, "publish"),
        (["schedule", "publish", "post/1", "2099-03-29 02:30", *BERLIN], 2, "--gap shift: 2099-03-29T03:30"),
        (["show", "c_zzzz"], 1, "sexton content list"),
        (["calendar", "--month", "soon"], 2, "--month 2027-03"),
        (["calendar", "--week", "soon"], 2, "--week 2027-03-14"),
        (["calendar", "--timezone", "Mars/Base"], 2, "Mars/Base"),
        (["revoke-feed", "f_zzzz"], 1, "sexton content feeds"),
    ],
)
def test_refusals(sexton: Sexton, arguments: list[str], code: int, said: str) -> None:
    result = sexton("content", *arguments)
    assert (result.code, said in result.err) == (code, True), result.err
