"""Workers over HTTP: whatever happens to them, a run is carried out by one at a time, and recorded once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from sexton.api.application import make_app
from sexton.api.server import serving
from sexton.config import Settings
from sexton.engine.remote import claim as claiming
from sexton.engine.remote import worker as remote
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store
from tests.waiting import until

Headers = dict[str, str]


class Remote:
    """A worker over HTTP, as a program in another language would be."""

    def __init__(self, api: Api, headers: Headers, worker: str) -> None:
        self.api = api
        self.headers = headers
        self.worker = worker

    @classmethod
    async def join(cls, api: Api, headers: Headers, **more: Any) -> Remote:
        reply = await api(
            "POST", "/workers", {"name": "resizer", "handlers": ["resize"], **more}, headers=headers
        )
        assert reply.status == 201, reply.content
        return cls(api, headers, reply.json()["worker_id"])

    async def claim(self, limit: int = 10, wait_seconds: float = 0) -> list[dict[str, Any]]:
        body = {"limit": limit, "wait_seconds": wait_seconds}
        reply = await self.api("POST", f"/workers/{self.worker}/claims", body, headers=self.headers)
        assert reply.status == 200, reply.content
        runs: list[dict[str, Any]] = reply.json()["runs"]
        return runs

    async def beat(self, *runs: dict[str, Any]) -> dict[str, Any]:
        body = {"runs": [run["run_id"] for run in runs]}
        reply = await self.api("POST", f"/workers/{self.worker}/beats", body, headers=self.headers)
        assert reply.status == 200, reply.content
        beaten: dict[str, Any] = reply.json()
        return beaten

    async def report(self, run: dict[str, Any], **said: Any) -> dict[str, Any]:
        body = {"reports": [{"run_id": run["run_id"], "token": run["token"], **said}]}
        reply = await self.api("POST", "/workers/reports", body, headers=self.headers)
        assert reply.status == 200, reply.content
        [verdict] = reply.json()["reports"]
        told: dict[str, Any] = verdict
        return told


@pytest_asyncio.fixture
async def guarded(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings(api_keys=CONFIGURED)) as client:
        yield client


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def fire(api: Api, times: int = 1, headers: Headers = ADMIN, **more: Any) -> list[str]:
    """Runs of a job with a handler that nothing in the cluster has."""
    spec = {"schedule": "@daily", "target": {"handler": "resize"}, "payload": {"image": 812}, **more}
    reply = await api("PUT", "/jobs/by-name/thumbnails", spec, headers=headers)
    assert reply.status < 300, reply.content
    made = [await api("POST", "/jobs/thumbnails/run", headers=headers) for _ in range(times)]
    return [each.json()["run_id"] for each in made]


async def shown(api: Api, run: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api("GET", f"/runs/{run}", headers=ADMIN)).json()
    return found


async def pass_over(database: Database, store: Store, worker: Remote) -> None:
    """Its lease ends, and a sweeper takes its runs back."""
    await store.execute(
        """update sexton.nodes set lease_until = clock_timestamp() - interval '1 s'
        where credential is not null and state <> 'dead'"""
    )
    await Sweeper(database, Settings(), Telemetry(), steady=lambda: True).sweep()


async def test_a_key_of_the_role_worker_serves_runs(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    [run_id] = await fire(guarded)
    [run] = await worker.claim()
    assert (run["run_id"], run["handler"], run["payload"]) == (run_id, "resize", {"image": 812})
    assert (run["job_name"], run["attempt"], run["trigger"]) == ("thumbnails", 1, "manual")
    assert run["idempotency_key"] == (await shown(guarded, run_id))["idempotency_key"]
    assert (await shown(guarded, run_id))["status"] == "running"
    lines = [{"message": "begun"}, {"message": "half", "level": "debug", "at": "2026-06-08T13:00:00Z"}]
    going = await worker.report(run, log=lines, progress={"fraction": 0.5, "text": "half"})
    assert going == {"run_id": run_id, "accepted": True, "status": "running"}
    assert (await shown(guarded, run_id))["progress"] == {"fraction": 0.5, "text": "half"}
    told = await worker.report(run, outcome="success", result={"bytes": 3}, log=[{"message": "done"}])
    assert told == {"run_id": run_id, "accepted": True, "status": "success"}
    found = await shown(guarded, run_id)
    assert (found["status"], found["result"]) == ("success", {"bytes": 3})
    log = (await guarded("GET", f"/runs/{run_id}/log", headers=ADMIN)).json()
    assert {each["message"]: each["level"] for each in log} == {
        "begun": "info", "half": "debug", "done": "info",
    }  # fmt: skip
    assert await store.value("select begun from sexton.nodes where credential is not null") == []


async def test_two_who_claim_at_once_share_the_runs(guarded: Api) -> None:
    headers = await make_key(guarded, "worker")
    workers = [await Remote.join(guarded, headers) for _ in range(2)]
    made = await fire(guarded, 12)
    taken = await asyncio.gather(*(each.claim(4) for each in workers * 3))
    claimed = [run["run_id"] for runs in taken for run in runs]
    assert sorted(claimed) == sorted(made)
    done = await asyncio.gather(
        *(workers[0].report(run, outcome="success") for runs in taken for run in runs)
    )
    assert {each["status"] for each in done} == {"success"}


async def test_a_report_whose_answer_was_lost_can_be_sent_again(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded, 3, max_retries=3)
    good, bad, later = await worker.claim()
    for run, said, status in (
        (good, {"outcome": "success", "result": 1}, "success"),
        (bad, {"outcome": "failure", "error": "disk full", "delay_seconds": 600}, "failed"),
        (later, {"outcome": "snooze", "delay_seconds": 600}, "snoozed"),
    ):
        first = await worker.report(run, **said)
        assert (first["accepted"], first["status"], first.get("again", False)) == (True, status, False)
        again = await worker.report(run, **said)
        assert (again["accepted"], again["again"]) == (True, True)
    assert await store.value("select count(*) from sexton.history where run_id is not null") == 1
    assert await store.value("select count(*) from sexton.attempts where outcome = 'failed'") == 1
    other = await worker.report(good, outcome="failure", error="after all")
    assert (other["accepted"], other["code"]) == (False, "run_ended")
    assert (await worker.report(bad, outcome="success"))["code"] == "claim_lost"


async def test_a_worker_that_stops_beating_loses_its_runs(
    guarded: Api, database: Database, store: Store
) -> None:
    headers = await make_key(guarded, "worker")
    dead, heir = [await Remote.join(guarded, headers) for _ in range(2)]
    [run_id] = await fire(guarded)
    [old] = await dead.claim()
    await pass_over(database, store, dead)
    heir = await Remote.join(guarded, headers)
    late = await dead.report(old, outcome="success")
    assert (late["accepted"], late["code"]) == (False, "claim_lost")
    for what in ("claims", "beats"):
        refused = await guarded("POST", f"/workers/{dead.worker}/{what}", headers=headers)
        assert (refused.status, refused.code) == (409, "worker_lost")
        assert "POST /api/v1/workers" in refused.json()["hint"]
    [new] = await heir.claim()
    assert (new["run_id"], new["attempt"]) == (run_id, 2)
    assert new["idempotency_key"] == old["idempotency_key"]
    late = await dead.report(old, outcome="success", log=[{"message": "from the grave"}])
    assert (late["accepted"], late["code"]) == (False, "claim_lost")
    assert (await shown(guarded, run_id))["status"] == "running"
    assert (await guarded("GET", f"/runs/{run_id}/log", headers=ADMIN)).json() == []
    assert (await heir.report(new, outcome="success"))["status"] == "success"


async def test_what_a_dead_worker_has_done_counts_while_no_other_has_it(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded)
    [run] = await worker.claim()
    await store.execute("update sexton.nodes set state = 'dead' where credential is not null")
    assert (await worker.report(run, outcome="success"))["status"] == "success"


async def test_a_beat_tells_what_to_stop(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded, 3, max_retries=0)
    wanted, unwanted, slow = await worker.claim()
    await guarded("POST", f"/runs/{unwanted['run_id']}/cancel", headers=ADMIN)
    beaten = await worker.beat(wanted, unwanted, slow)
    assert (beaten["cancel"], beaten["lost"], beaten["draining"]) == ([unwanted["run_id"]], [], False)
    going = await worker.report(unwanted, progress={"fraction": 0.1})
    assert going["status"] == "cancelling"
    assert (await worker.report(unwanted, outcome="cancel"))["status"] == "cancelled"
    await store.execute(
        """update sexton.runs set deadline_at = clock_timestamp() - interval '1 s'
        where id = (select max(id) from sexton.runs)"""
    )
    beaten = await worker.beat(wanted, unwanted, slow)
    last = max((wanted, slow), key=lambda run: (len(run["run_id"]), run["run_id"]))
    assert set(beaten["lost"]) == {unwanted["run_id"], last["run_id"]}
    found = await shown(guarded, last["run_id"])
    assert (found["status"], "timeout" in found["error"]) == ("dead", True)
    assert (await worker.report(last, outcome="success"))["code"] == "run_ended"


async def test_a_beat_leaves_a_run_alone_that_was_claimed_anew_meanwhile(
    guarded: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded)
    [run] = await worker.claim()
    await store.execute("update sexton.runs set deadline_at = clock_timestamp() - interval '1 s'")
    fetch, anew = Context.fetch, list[dict[str, Any]]()

    async def fetch_and_wait(self: Context, statement: str, /, **parameters: Any) -> list[Any]:
        rows = await fetch(self, statement, **parameters)
        if statement == "remote/list_held":
            await worker.report(run, outcome="snooze", delay_seconds=0)
            anew.extend(await worker.claim())
        return rows

    monkeypatch.setattr(Context, "fetch", fetch_and_wait)
    assert (await worker.beat(run))["lost"] == []
    monkeypatch.undo()
    assert await store.value("select cardinality(begun) from sexton.nodes where credential is not null") == 1
    [again] = anew
    assert (await worker.report(again, outcome="success"))["status"] == "success"


async def test_a_run_whose_claim_was_never_answered_goes_back(guarded: Api, store: Store) -> None:
    """Not at once: the answer may be on its way."""
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    [run_id] = await fire(guarded)
    [unheard] = await worker.claim()
    await worker.beat()
    assert (await shown(guarded, run_id))["status"] == "running"
    await store.execute("update sexton.runs set claimed_at = claimed_at - interval '31 s'")
    await worker.beat()
    assert (await shown(guarded, run_id))["status"] == "pending"
    [run] = await worker.claim()
    assert (run["run_id"], run["attempt"]) == (run_id, 1)
    assert (await worker.report(unheard, outcome="success"))["code"] == "claim_lost"
    await store.execute("update sexton.runs set claimed_at = claimed_at - interval '31 s'")
    await guarded("POST", f"/workers/{worker.worker}/beats", headers=worker.headers)
    assert (await worker.report(run, outcome="success"))["accepted"]


async def test_who_waits_is_woken(guarded: Api) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"), lease_seconds=300)
    await fire(guarded)
    [first] = await worker.claim()
    waiting = asyncio.create_task(worker.claim(wait_seconds=30))
    await guarded("GET", "/session", headers=ADMIN)
    [second] = await fire(guarded)
    assert [run["run_id"] for run in await waiting] == [second]
    assert second != first["run_id"]


async def test_who_waits_is_let_go_when_the_server_stops(database: Database) -> None:
    app = make_app(database, Settings())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with aiohttp.ClientSession() as session:
            async with serving(app, listener):
                api = Api(session, f"http://127.0.0.1:{listener.getsockname()[1]}")
                worker = await Remote.join(api, {}, lease_seconds=300)
                waiting = asyncio.create_task(worker.claim(wait_seconds=30))
                await until(lambda: app.claims.waiting == 1)
            assert await waiting == []
    assert app.claims.waiting == 0


async def test_nothing_is_claimed_for_a_caller_who_has_hung_up(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"), lease_seconds=300)
    waiting = asyncio.create_task(worker.claim(wait_seconds=30))
    beats = "select heartbeat_at > started_at from sexton.nodes where credential is not null"
    await until(lambda: store.value(beats))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    [run_id] = await fire(guarded)
    other = await Remote.join(guarded, worker.headers)
    [run] = await other.claim(wait_seconds=2)
    assert run["run_id"] == run_id


async def test_a_worker_sees_its_namespace_and_no_other(guarded: Api, store: Store) -> None:
    await guarded("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
    ours = await Remote.join(guarded, await make_key(guarded, "worker"))
    theirs = await Remote.join(guarded, await make_key(guarded, "worker", "billing"))
    await fire(guarded, headers={**ADMIN, "Sexton-Namespace": "billing"})
    assert await ours.claim() == []
    [run] = await theirs.claim()
    stolen = await ours.report(run, outcome="success")
    assert (stolen["accepted"], stolen["code"]) == (False, "run_not_found")
    for path in ("claims", "beats"):
        foreign = await guarded("POST", f"/workers/{theirs.worker}/{path}", headers=ours.headers)
        missing = await guarded("POST", f"/workers/n_1/{path}", headers=ours.headers)
        assert (foreign.status, foreign.code) == (missing.status, missing.code) == (404, "worker_not_found")
    assert (await guarded("DELETE", f"/workers/{theirs.worker}", headers=ours.headers)).status == 404
    assert (await theirs.report(run, outcome="success"))["status"] == "success"


async def test_only_the_key_that_joined_acts_for_a_worker(guarded: Api, store: Store) -> None:
    """And none for a process of the cluster."""
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    other = await make_key(guarded, "worker")
    inside = await store.node()
    await store.execute("update sexton.nodes set namespaces = '{default}'")
    for name in (worker.worker, remote.worker_id_of(inside)):
        assert (await guarded("POST", f"/workers/{name}/claims", headers=other)).code == "worker_not_found"


async def test_limits_of_queues_hold(guarded: Api) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"), queues=["images"])
    await guarded("PUT", "/queues/images", {"concurrency": 2}, headers=ADMIN)
    await fire(guarded, 3, queue="images")
    runs = await worker.claim()
    assert len(runs) == 2
    assert await worker.claim() == []
    await worker.report(runs[0], outcome="success")
    assert len(await worker.claim()) == 1
    elsewhere = await Remote.join(guarded, worker.headers, queues=["other"])
    await fire(guarded, queue="default")
    assert await elsewhere.claim() == []


async def test_a_worker_that_leaves_gives_its_runs_back(guarded: Api) -> None:
    headers = await make_key(guarded, "worker")
    worker = await Remote.join(guarded, headers)
    [run_id] = await fire(guarded)
    [run] = await worker.claim()
    left = await guarded("DELETE", f"/workers/{worker.worker}", headers=headers)
    assert left.json() == {"worker_id": worker.worker, "given_back": 1}
    assert (await worker.report(run, outcome="success"))["code"] == "claim_lost"
    assert (await guarded("DELETE", f"/workers/{worker.worker}", headers=headers)).code == "worker_lost"
    [again] = await (await Remote.join(guarded, headers)).claim()
    assert (again["run_id"], again["attempt"]) == (run_id, 1)


async def test_a_run_that_ends_its_workers_runs_alone_and_is_poison_in_the_end(
    guarded: Api, database: Database, store: Store
) -> None:
    headers = await make_key(guarded, "worker")
    [run_id] = await fire(guarded, max_retries=50)
    for _ in range(10):
        worker = await Remote.join(guarded, headers)
        [run] = await worker.claim(1)
        await pass_over(database, store, worker)
    assert run["attempt"] == 10
    found = await shown(guarded, run_id)
    assert (found["status"], found["reason"]) == ("dead", "poison")


async def test_a_suspect_gets_no_company(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded, 2)
    await store.execute("update sexton.runs set company = 1 where id = (select min(id) from sexton.runs)")
    [suspect] = await worker.claim()
    assert await worker.claim() == []
    await worker.report(suspect, outcome="success")
    assert len(await worker.claim()) == 1


async def test_what_was_given_another_target_goes_back(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded)
    edited = await guarded("PATCH", "/jobs/thumbnails", {"target": {"handler": "other"}}, headers=ADMIN)
    assert edited.status == 200
    assert await worker.claim() == []


async def test_the_log_of_a_run_has_an_end(guarded: Api, store: Store) -> None:
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded)
    [run] = await worker.claim()
    for _ in range(3):
        await worker.report(run, log=[{"message": "x" * 16_000}] * 50)
    assert await store.value("select count(*) from sexton.run_logs") == 66
    assert (
        await store.value("select count(*) from sexton.run_logs where message like 'the log ends here%'") == 1
    )


async def test_a_worker_holds_no_more_runs_than_a_beat_can_name(
    guarded: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "MOST_HELD", 3)
    worker = await Remote.join(guarded, await make_key(guarded, "worker"))
    await fire(guarded, 4)
    held = await worker.claim(2) + await worker.claim(2)
    assert (len(held), await worker.claim()) == (3, [])
    await worker.report(held[0], outcome="success")
    assert len(await worker.claim()) == 1


async def test_many_workers_are_refused(guarded: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_WORKERS", 1)
    headers = await make_key(guarded, "worker")
    await Remote.join(guarded, headers)
    body = {"name": "one more", "handlers": ["resize"]}
    reply = await guarded("POST", "/workers", body, headers=headers)
    assert (reply.status, reply.code) == (409, "too_many_workers")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/workers", {"name": "a"}, "handlers"),
        ("/workers", {"name": "a", "handlers": []}, "handlers"),
        ("/workers", {"name": "a", "handlers": ["x"], "capacity": 0}, "capacity"),
        ("/workers", {"name": "a", "handlers": ["x"], "lease_seconds": 1}, "lease_seconds"),
        ("/workers/n_1/claims", {"limit": 0}, "limit"),
        ("/workers/n_1/claims", {"wait_seconds": 3600}, "wait_seconds"),
        ("/workers/reports", {"reports": []}, "reports"),
        ("/workers/reports", {"reports": [{"run_id": "r_1", "token": "t", "outcome": "failure"}]}, "error"),
        ("/workers/reports", {"reports": [{"run_id": "r_1", "token": "t"}] * 2}, "reports[1].run_id"),
        ("/workers/reports", {"reports": [{"run_id": "r_1", "token": "t", "outcome": "won"}]}, "outcome"),
    ],
)
async def test_what_is_wrong_is_named(api: Api, path: str, body: Any, field: str) -> None:
    reply = await api("POST", path, body)
    assert reply.status == 422
    assert reply.json()["field"].endswith(field)
    assert reply.json()["hint"]


async def test_a_wrong_token_is_told_by_its_report(api: Api) -> None:
    body = {"reports": [{"run_id": "r_1", "token": "t"}, {"run_id": "nonsense", "token": "t"}]}
    reply = await api("POST", "/workers/reports", body)
    assert [each["code"] for each in reply.json()["reports"]] == ["bad_token", "run_not_found"]
