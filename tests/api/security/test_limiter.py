"""How many requests a caller may send, and how many expensive ones at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest

from sexton.api import services
from sexton.api.application import operations
from sexton.api.security import gate as gates
from sexton.api.security.gate import Gate, RequestCaller
from sexton.api.security.limiter import MOST, MOST_OF_ONE, Limiter
from sexton.config import Settings
from sexton.errors import SextonError
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import rate
from tests.api.conftest import serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.api.security.test_sessions import signed_in
from tests.waiting import until


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets do not fill."""
    monkeypatch.setattr(rate, "clock", SimpleNamespace(monotonic=lambda: 1000.0))


async def test_a_key_that_sends_too_much_is_put_off(database: Database, still: None) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=200)) as api:
        slow = await make_key(api, "viewer", rate=0.4)
        other = await make_key(api, "viewer")
        first = await api("GET", "/jobs", headers=slow)
        assert (first.status, first.headers["RateLimit-Policy"]) == (200, '"caller";q=2;w=5')
        assert first.headers["RateLimit"] == '"caller";r=1;t=3'
        assert "Retry-After" not in first.headers
        await api("GET", "/nowhere", headers=slow)
        assert (await api("POST", "/jobs", {}, headers=slow)).code == "forbidden"
        refused = await api("GET", "/jobs", headers=slow)
        assert (refused.status, refused.code) == (429, "too_many_requests")
        assert refused.headers["Retry-After"] == "3"
        assert refused.headers["RateLimit"] == '"caller";r=0;t=5'
        assert "key:walker" in refused.json()["detail"]
        assert "--rate" in refused.json()["hint"]
        again = await api("GET", "/jobs", headers=other)
        assert (again.status, again.headers["RateLimit-Policy"]) == (200, '"caller";q=1000;w=5')
        [shown, _] = (await api("GET", "/keys", headers=ADMIN)).json()
        assert shown["rate"] == 0.4
        made = await api("POST", f"/keys/{shown['key_id']}/rotate", headers=ADMIN)
        assert made.json()["rate"] == 0.4
        for wrong in (0, -1, 1e9):
            body = {"name": "x", "role": "viewer", "rate": wrong}
            assert (await api("POST", "/keys", body, headers=ADMIN)).json()["field"] == "rate"


async def test_a_session_of_a_key_has_the_rate_of_the_key(database: Database, still: None) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=200)) as api:
        browser = await signed_in(api, await make_key(api, "viewer", rate=4))
        shown = await browser("GET", "/jobs")
        assert (shown.status, shown.headers["RateLimit-Policy"]) == (200, '"caller";q=20;w=5')


async def test_callers_without_a_credential_are_counted_by_their_address(
    database: Database, still: None
) -> None:
    """Reports with the token of a run are not, unless the token is wrong."""
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=1)) as api:
        seen = [await api("GET", "/jobs") for _ in range(3)]
        assert [reply.code for reply in seen] == ["no_key"] * 3
        assert seen[0].headers["RateLimit-Policy"] == '"address";q=5;w=5'
        wrong = {"Sexton-Run-Token": "1.1." + "x" * 43}
        assert (await api("POST", "/runs/r_1/complete", headers=wrong)).code == "bad_token"
        assert (await api("GET", "/healthz")).status == 200
        for method, path in (("GET", "/jobs"), ("GET", "/healthz"), ("POST", "/runs/r_1/complete")):
            refused = await api(method, path, headers=wrong)
            assert (refused.status, refused.code) == (429, "too_many_requests"), path
            assert refused.headers["Retry-After"] == "1"
        assert (await api("GET", "/jobs", headers=ADMIN)).status == 200


async def test_each_process_counts_for_itself(database: Database, still: None) -> None:
    settings = Settings(api_keys=CONFIGURED, api_rate=0.2)
    async with serve(database, settings) as one, serve(database, settings) as two:
        assert [(await one("GET", "/jobs", headers=ADMIN)).status for _ in range(2)] == [200, 429]
        assert (await two("GET", "/jobs", headers=ADMIN)).status == 200


async def test_the_user_of_this_machine_has_no_limit(database: Database, still: None) -> None:
    async with serve(database, Settings(api_rate=0.2)) as api:
        seen = [await api("GET", "/jobs") for _ in range(3)]
        assert [reply.status for reply in seen] == [200] * 3
        assert "RateLimit" not in seen[0].headers


async def test_a_gate_lets_so_many_in_of_one_and_of_all() -> None:
    gate, open_, told = Gate(places=3, of_one=2), asyncio.Event(), list[str]()

    async def read(caller: str) -> None:
        async with gate.place(RequestCaller(caller)):
            told.append(caller)
            await open_.wait()

    reading = [asyncio.create_task(read(caller)) for caller in "aaabb"]
    await until(lambda: gate.waiting == 2)
    assert (told, gate.taken) == (["a", "a", "b"], 3)
    reading[2].cancel()
    await until(lambda: gate.waiting == 1)
    open_.set()
    await asyncio.gather(*reading, return_exceptions=True)
    assert (told, gate.taken, gate.waiting) == (["a", "a", "b", "b"], 0, 0)


async def test_who_finds_no_place_is_told_so() -> None:
    gate = Gate(places=1, of_one=1, wait_seconds=0.01)
    async with gate.place(RequestCaller("a")):
        with pytest.raises(SextonError, match="1 in all") as refused:
            async with gate.place(RequestCaller("b")):
                pass
    assert refused.value.code == "too_many_lists"
    async with gate.place(RequestCaller("b")):
        assert gate.taken == 1


async def test_lists_of_one_caller_leave_room_for_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its lists are being read, a caller can still do what is not expensive."""
    monkeypatch.setattr(gates.Gate.__init__, "__defaults__", (2, 1, 0.01))
    held, entered = asyncio.Event(), asyncio.Event()
    fetch = Database.fetch

    async def slow(self: Database, name: str, /, **parameters: Any) -> Any:
        if name == "reading/list_jobs" or name.startswith("jobs/list"):
            entered.set()
            await held.wait()
        return await fetch(self, name, **parameters)

    monkeypatch.setattr(Database, "fetch", slow)
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        viewer = await make_key(api, "viewer")
        first = asyncio.create_task(api("GET", "/jobs", headers=ADMIN))
        await entered.wait()
        refused = await api("GET", "/runs", headers=ADMIN)
        assert (refused.status, refused.code, refused.headers["Retry-After"]) == (429, "too_many_lists", "1")
        assert (await api("GET", "/runs", headers=viewer)).status == 200
        assert (await api("GET", "/session", headers=ADMIN)).status == 200
        held.set()
        assert (await first).status == 200
        assert (await api("GET", "/runs", headers=ADMIN)).status == 200


async def test_counts_of_segments_of_one_caller_leave_room_for_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment counts who belongs to it, also when it is set."""
    monkeypatch.setattr(gates.Gate.__init__, "__defaults__", (2, 1, 0.01))
    held, entered = asyncio.Event(), asyncio.Event()
    fetch = Context.fetch

    async def slow(self: Context, name: str, /, **parameters: Any) -> Any:
        if name == "campaigns/count_filter":
            entered.set()
            await held.wait()
        return await fetch(self, name, **parameters)

    monkeypatch.setattr(Context, "fetch", slow)
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        wish = {"filter": {"field": "plan", "is": "free"}}
        first = asyncio.create_task(api("PUT", "/segments/free", wish, headers=ADMIN))
        await entered.wait()
        refused = await api("PUT", "/segments/other", wish, headers=ADMIN)
        assert (refused.status, refused.code) == (429, "too_many_lists")
        held.set()
        assert (await first).status == 200


async def test_an_export_gives_its_place_back_at_its_end(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates.Gate.__init__, "__defaults__", (1, 1, 0.01))
    async with serve(database, Settings()) as api:
        for path in ("/audit/export", "/audit/export?format=csv", "/audit"):
            assert (await api("GET", path)).status == 200
        assert (await api("HEAD", "/audit/export")).status == 200
        assert (await api("GET", "/audit")).status == 200


async def test_exports_that_are_not_taken_leave_lists_their_places(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that begins an export, and does not read it."""
    monkeypatch.setattr(gates.Gate.__init__, "__defaults__", (1, 1, 2.0))
    job = {"schedule": "@yearly", "payload": "x" * 250_000}
    lines = [json.dumps({"name": f"big-{n}", **job}).encode() for n in range(80)]
    async with serve(database, Settings()) as api:
        headers = {"Content-Type": "application/x-ndjson"}
        await api("POST", "/jobs/bulk?chunk=20", data=BytesIO(b"\n".join(lines)), headers=headers)
        async with api.session.get(f"{api.base}/api/v1/export/jobs") as export:
            assert (await api("GET", "/jobs?limit=1")).status == 200
            assert len((await export.read()).splitlines()) == 80


async def test_what_has_begun_waits_for_its_place() -> None:
    gate, told = Gate(2, 1, 0.01, what="export"), list[bytes]()

    async def parts() -> AsyncIterator[bytes]:
        yield b"1"
        yield b"2"

    async def read() -> None:
        async for part in gate.in_turn(parts(), RequestCaller("a")):
            told.append(part)

    async with gate.place(RequestCaller("a")):
        reading = asyncio.create_task(read())
        with pytest.raises(SextonError, match="no place for another export"):
            async with gate.place(RequestCaller("a")):
                pass
        assert not told
    await reading
    assert (told, gate.taken) == ([b"1", b"2"], 0)


def test_what_reads_much_is_gated() -> None:
    gated = {one.name for one in operations() if one.lists or one.heavy}
    paged = {
        one.name
        for one in operations()
        if one.query is not None and "limit" in one.query.__struct_fields__ and one.role is not None
    }
    assert paged - gated <= {"get_run_log", "list_keys"}
    assert {"preview_job", "preview_spec", "explain_job", "backfill_job", "export_audit"} <= gated
    on_many = {one.name for one in operations() if one.path.endswith("/actions")}
    assert len(on_many) > 7
    assert on_many <= gated


async def test_requests_that_last_do_not_take_all_connections(database: Database) -> None:
    """Each takes as long as its caller wishes: few of one caller may, so that others are answered."""
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=0)) as api, AsyncExitStack() as stack:
        key = (await make_key(api, "editor"))["Authorization"]
        port = int(api.base.rpartition(":")[2])
        head = (
            "POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"
            f"Authorization: {key}\r\n\r\n"
        )
        answers = []
        for _ in range(MOST_OF_ONE + 5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            writer.write(head.encode())
            answers.append(asyncio.create_task(reader.readline()))
        await until(lambda: sum(each.done() for each in answers) >= 5)
        assert [each.result() for each in answers if each.done()] == [
            b"HTTP/1.1 429 Too Many Requests\r\n"
        ] * 5
        assert (await api("GET", "/jobs", headers=ADMIN)).status == 200
        for each in answers:
            each.cancel()


async def test_what_needs_no_credential_is_answered_to_all_of_an_address(database: Database) -> None:
    """Behind a proxy they share one."""
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=0)) as api, AsyncExitStack() as stack:
        port = int(api.base.rpartition(":")[2])
        head = (
            "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        )
        for _ in range(MOST_OF_ONE + 5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            writer.write(head.encode())
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        for path in ("/healthz", "/sign-in"):
            assert (await api("GET", path)).status == 200


def test_callers_share_what_all_may_have_under_way() -> None:
    limiter, held = Limiter(Settings()), ExitStack()

    def admitted(caller: str) -> bool:
        try:
            held.enter_context(limiter.under_way(RequestCaller(caller)))
        except SextonError:
            return False
        return True

    for caller in "ab":
        assert sum(admitted(caller) for _ in range(MOST)) == MOST_OF_ONE
    # When all of them are taken, a newcomer still gets its share.
    assert sum(admitted("c") for _ in range(MOST)) == MOST // 3
    assert sum(admitted("d") for _ in range(MOST)) == MOST // 4
    assert [admitted(caller) for caller in "abcd"] == [False] * 4
    held.close()
    assert admitted("a")


def test_the_keys_of_one_namespace_leave_others_their_share() -> None:
    """Its admin can make as many keys as requests may be under way."""
    limiter, held = Limiter(Settings()), ExitStack()

    def admitted(caller: str, scope: str) -> bool:
        try:
            held.enter_context(limiter.under_way(RequestCaller(caller, scope)))
        except SextonError:
            return False
        return True

    assert sum(admitted(f"key:{n}", "ash") for n in range(2 * MOST)) == MOST
    assert sum(admitted("key:own", "oak") for _ in range(MOST)) == MOST_OF_ONE
    assert sum(admitted("key:other", "oak") for _ in range(MOST)) == MOST // 4
    assert admitted("person", "*")
    assert not admitted("key:0", "ash")
    held.close()


async def test_the_keys_of_one_namespace_leave_others_a_place() -> None:
    gate = Gate(places=3, of_one=1, wait_seconds=0.01, of_scope=2)
    async with gate.place(RequestCaller("a", "ash")), gate.place(RequestCaller("b", "ash")):
        with pytest.raises(SextonError, match="2 in all"):
            async with gate.place(RequestCaller("c", "ash")):
                pass
        async with gate.place(RequestCaller("t", "oak")):
            assert gate.taken == 3
    async with gate.place(RequestCaller("c", "ash")):
        assert gate.taken == 1


async def test_exports_of_many_keys_of_one_namespace_leave_others_a_place(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export lasts as long as its caller reads it."""
    monkeypatch.setattr(gates.Gate.__init__, "__defaults__", (gates.PLACES, gates.PLACES_OF_ONE, 0.01))
    for name, places in (("EXPORTS", 2), ("EXPORTS_OF_ONE", 1), ("EXPORTS_OF_SCOPE", 1)):
        monkeypatch.setattr(services, name, places)
    job = {"schedule": "@yearly", "payload": "x" * 250_000}
    lines = [json.dumps({"name": f"big-{n}", **job}).encode() for n in range(80)]
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        for name in ("ash", "oak"):
            assert (await api("POST", "/namespaces", {"name": name}, headers=ADMIN)).status == 201
        first, second, other = [await make_key(api, "viewer", name) for name in ("ash", "ash", "oak")]
        headers = {"Content-Type": "application/x-ndjson", **ADMIN, "Sexton-Namespace": "ash"}
        await api("POST", "/jobs/bulk?chunk=20", data=BytesIO(b"\n".join(lines)), headers=headers)
        async with api.session.get(f"{api.base}/api/v1/export/jobs", headers=first) as export:
            assert export.status == 200
            assert (await api("GET", "/export/jobs", headers=second)).code == "too_many_lists"
            assert (await api("GET", "/export/jobs", headers=other)).status == 200
