"""Lists over HTTP that people search and sort: each page goes on where the last one ended, in any order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.api.conftest import Api

TEXTS = {"email": {"subject": "Hello", "text": "Hello"}}


async def walked(api: Api, path: str, name: str) -> list[Any]:
    """The field of every row, in pages of two."""
    found: list[Any] = []
    following = f"{path}{'&' if '?' in path else '?'}limit=2"
    while following:
        page = await api("GET", following)
        assert page.status == 200, page.content
        assert len(page.json()) <= 2
        found += [each[name] for each in page.json()]
        link = page.headers.get("link", "")
        following = link.split("</api/v1")[1].split(">")[0] if link else ""
    return found


async def test_templates(api: Api) -> None:
    for name in ("hello", "help", "hi", "news", "Hello"):
        await api("PUT", f"/templates/{name}", TEXTS)
    assert await walked(api, "/templates", "template_id") == ["Hello", "hello", "help", "hi", "news"]
    assert await walked(api, "/templates?sort=-template_id", "template_id") == [
        "news", "hi", "help", "hello", "Hello",
    ]  # fmt: skip
    assert await walked(api, "/templates?search=hel", "template_id") == ["hello", "help"]
    assert await walked(api, "/templates?search=h&sort=-template_id", "template_id") == [
        "hi",
        "help",
        "hello",
    ]
    assert await walked(api, "/templates?search=%25", "template_id") == []
    assert (await api("GET", "/templates?sort=version")).json()["field"] == "sort"
    assert await walked(api, "/templates/hello/versions", "version") == [1]


async def test_recipients(api: Api) -> None:
    for name in ("ann", "anna", "ben", "zoe"):
        await api("PUT", f"/recipients/{name}", {"email": f"{name[:2]}@example.org"})
    assert await walked(api, "/recipients?sort=-user_id", "user_id") == ["zoe", "ben", "anna", "ann"]
    assert await walked(api, "/recipients?search=an&sort=-user_id", "user_id") == ["anna", "ann"]
    assert await walked(api, "/recipients?search=an", "user_id") == ["ann", "anna"]


async def test_campaigns(api: Api) -> None:
    await api("PUT", "/templates/hello", TEXTS)
    times: dict[str, dict[str, str]] = {
        "Spring": {"send_at": "2099-03-14T08:00:00Z"},
        "autumn": {"local_time": "2098-09-14 08:00"},
        "50% off": {"send_at": "2099-01-01T00:00:00Z"},
        "Late spring": {"send_at": "2099-05-01T00:00:00Z"},
    }
    for name, when in times.items():
        wish = {"name": name, "template_id": "hello", "channel": "email", "audience": {"everyone": True}}
        made = await api("POST", "/campaigns", {**wish, **when, "draft": True})
        assert made.status == 201, made.content
    made_in_turn = list(times)
    assert await walked(api, "/campaigns", "name") == made_in_turn[::-1]
    assert await walked(api, "/campaigns?sort=created_at", "name") == made_in_turn
    by_name = ["50% off", "autumn", "Late spring", "Spring"]
    assert await walked(api, "/campaigns?sort=name", "name") == by_name
    assert await walked(api, "/campaigns?sort=-name", "name") == by_name[::-1]
    by_time = ["autumn", "50% off", "Spring", "Late spring"]
    assert await walked(api, "/campaigns?sort=send_at", "name") == by_time
    assert await walked(api, "/campaigns?sort=-send_at", "name") == by_time[::-1]
    assert await walked(api, "/campaigns?search=SPRING", "name") == ["Late spring", "Spring"]
    assert await walked(api, "/campaigns?search=spring&sort=-name", "name") == ["Spring", "Late spring"]
    assert await walked(api, "/campaigns?search=%25", "name") == ["50% off"]
    assert await walked(api, "/campaigns?search=spring&status=draft&sort=name", "name") == [
        "Late spring", "Spring",
    ]  # fmt: skip
    assert await walked(api, "/campaigns?status=done&sort=name", "name") == []


async def test_entities(api: Api) -> None:
    for kind, name in (("post", "a1"), ("post", "a2"), ("post", "b1"), ("banner", "a1"), ("zebra", "a9")):
        made = await api("PUT", f"/content/entities/{kind}/{name}", {"body": {"title": name}})
        assert made.status in (200, 201), made.content
    assert await walked(api, "/content/entities?search=a", "entity_id") == ["a1", "a1", "a2", "a9"]
    assert await walked(api, "/content/entities?search=a", "entity_type") == [
        "banner", "post", "post", "zebra",
    ]  # fmt: skip
    assert await walked(api, "/content/entities?search=a&entity_type=post", "entity_id") == ["a1", "a2"]
    assert await walked(api, "/content/entities?search=zz", "entity_id") == []
    refused = await api("GET", "/content/entities?search=a&adapter=cms")
    assert (refused.status, refused.json()["field"]) == (422, "search")


async def test_releases(api: Api) -> None:
    for day, note in ((1, "Spring collection"), (2, "spring sale"), (3, "Imprint"), (4, None)):
        wish: dict[str, Any] = {
            "at": f"2099-03-0{day}T09:00:00Z",
            "items": [{"entity_type": "post", "entity_id": str(day), "action": "publish"}],
            "created_by": "ann",
        }
        made = await api("POST", "/content/releases", wish if note is None else {**wish, "note": note})
        assert made.status == 201, made.content
    times = await walked(api, "/content/releases", "scheduled_at_utc")
    assert all(one < other for one, other in pairwise(times))
    assert await walked(api, "/content/releases?sort=-scheduled_at", "scheduled_at_utc") == times[::-1]
    assert await walked(api, "/content/releases?search=spring", "note") == [
        "Spring collection",
        "spring sale",
    ]
    assert await walked(api, "/content/releases?search=spring&sort=-scheduled_at", "note") == [
        "spring sale", "Spring collection",
    ]  # fmt: skip
    since = "/content/releases?start=2099-03-03T00:00:00Z"
    assert await walked(api, since, "note") == ["Imprint", None]
