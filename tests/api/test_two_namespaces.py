"""Two namespaces on one server never see each other, whatever both do.

Everything that a namespace makes has its mark in its names and texts. Both act in turn, at random, on ids of
their own and of the other. An answer to one never has the mark or an id of the other in it (but for the id
that the request itself named), ids of the other are answered like ids that do not exist, and what one sees
is changed by its own acts alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Api, Reply, serve
from tests.api.test_access import ADMIN, CONFIGURED, make_key

STEPS = 60
IDS = re.compile(r'"((?:j|r|c|k)_[0-9a-z]+)"')
KINDS = {"j": "job", "r": "run", "c": "schedule", "k": "key"}
SEEN = (
    "/jobs?limit=1000",
    "/runs?limit=1000",
    "/dead?limit=1000",
    "/queues",
    "/keys",
    "/content/schedules?limit=1000",
    "/content/entities/post/1",
    "/audit?limit=1000",
)
PASSING = {"request_id", "last_used_at"}
ACTS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("POST", "/jobs", lambda mark: {"name": f"{mark}-{{n}}", "schedule": "0 9 1 1 *", "payload": mark}),
    ("PUT", "/jobs/by-name/shared", lambda mark: {"schedule": "0 9 1 1 *", "description": mark}),
    ("PATCH", "/jobs/{job}", lambda mark: {"description": f"{mark} {{n}}"}),
    ("POST", "/jobs/{job}/pause", lambda mark: {"reason": mark}),
    ("POST", "/jobs/{job}/resume", lambda _: None),
    ("POST", "/jobs/{job}/run", lambda mark: {"payload": mark}),
    ("POST", "/jobs/{job}/reschedule", lambda _: {"at": "2100-01-01T00:00:00Z"}),
    ("DELETE", "/jobs/{job}", lambda _: None),
    ("GET", "/jobs/{job}", lambda _: None),
    ("GET", "/jobs/{job}/runs", lambda _: None),
    ("GET", "/jobs/{job}/why", lambda _: None),
    ("GET", "/jobs/{job}/changes", lambda _: None),
    ("POST", "/jobs/actions", lambda mark: {"action": "pause", "name": "*", "reason": mark}),
    ("GET", "/runs/{run}", lambda _: None),
    ("GET", "/runs/{run}/log", lambda _: None),
    ("POST", "/runs/{run}/cancel", lambda mark: {"reason": mark}),
    ("POST", "/dead/redrive", lambda _: {"all": True}),
    ("PUT", "/queues/shared", lambda _: {"concurrency": 3}),
    ("POST", "/queues/shared/pause", lambda _: None),
    ("POST", "/keys", lambda mark: {"name": f"{mark}-{{n}}", "role": "viewer"}),
    ("DELETE", "/keys/{key}", lambda _: None),
    ("PUT", "/content/entities/post/1", lambda mark: {"body": {"title": f"{mark} {{n}}"}}),
    (
        "POST",
        "/content/schedules",
        lambda mark: {
            "entity_type": "post",
            "entity_id": 1,
            "action": "publish",
            "created_by": mark,
            "at": "2100-01-01T00:00:00Z",
            "force": True,
        },
    ),
    ("GET", "/content/schedules/{schedule}", lambda _: None),
    ("POST", "/content/schedules/{schedule}/cancel", lambda mark: {"by": mark}),
    ("GET", "/audit", lambda _: None),
    *(("GET", path, lambda _: None) for path in SEEN),
)


@dataclass
class Tenant:
    """A namespace: its mark, its credential, and the ids that it was given."""

    mark: str
    headers: dict[str, str]
    ids: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in KINDS.values()})

    def learn(self, reply: Reply) -> None:
        for id_ in IDS.findall(reply.content.decode()):
            self.ids[KINDS[id_[0]]].add(id_)

    @property
    def everything(self) -> set[str]:
        return set().union(*self.ids.values())


@pytest_asyncio.fixture
async def shared(database: Database) -> AsyncIterator[tuple[Api, Tenant, Tenant]]:
    async with serve(database, Settings(api_keys=CONFIGURED, api_rate=0)) as api:
        tenants = []
        for mark in ("ash-tree", "oak-tree"):
            assert (await api("POST", "/namespaces", {"name": mark}, headers=ADMIN)).status == 201
            tenants.append(Tenant(mark, await make_key(api, "admin", mark)))
        yield api, tenants[0], tenants[1]


async def snapshot(api: Api, tenant: Tenant) -> list[Any]:
    return [_lasting((await api("GET", path, headers=tenant.headers)).json()) for path in SEEN]


def _lasting(answer: Any) -> Any:
    """An answer without what each request changes by itself."""
    if isinstance(answer, list):
        return [_lasting(each) for each in answer]
    if isinstance(answer, dict):
        return {name: _lasting(each) for name, each in answer.items() if name not in PASSING}
    return answer


@pytest.mark.parametrize("seed", range(3))
async def test_neither_sees_or_touches_what_is_the_others(
    shared: tuple[Api, Tenant, Tenant], seed: int
) -> None:
    api, *tenants = shared
    chance = random.Random(seed)
    answered: set[int] = set()
    for step in range(STEPS):
        actor, other = chance.sample(tenants, 2)
        method, path, make = chance.choice(ACTS) if step >= len(ACTS) else ACTS[step]
        foreign = False
        for kind in re.findall(r"\{(\w+)\}", path):
            owner = chance.choice((actor, other))
            own = sorted(owner.ids[kind]) or [f"{kind[0]}_zzzz"]
            foreign = foreign or owner is other
            path = path.replace(f"{{{kind}}}", chance.choice(own))
        body = make(actor.mark)
        if isinstance(body, dict):
            body = {
                name: value.replace("{n}", str(step)) if isinstance(value, str) else value
                for name, value in body.items()
            }
        before = await snapshot(api, other)
        reply = await api(method, path, body, headers=actor.headers)
        where = (step, method, path, reply.content)
        answered.add(reply.status)
        assert reply.status < 500, where
        if foreign:
            assert reply.status == 404, where
        text = reply.content.decode()
        assert other.mark not in text, where
        assert not {id_ for id_ in IDS.findall(text) if id_ in other.everything}, where
        if not foreign:
            actor.learn(reply)
        assert await snapshot(api, other) == before, where
    assert {200, 201, 404} <= answered
    assert all(tenant.ids["job"] for tenant in tenants)
    assert not tenants[0].everything & tenants[1].everything
