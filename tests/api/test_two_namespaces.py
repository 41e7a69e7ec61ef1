"""Two namespaces on one server never see each other, whatever both do.

Both have one of everything, under the same names where people give them, and each with its mark in every
text. First each carries out every operation of the API on what is its own; then both act in turn, at random,
on ids of their own and of the other. An answer to one never has the mark or an id of the other in it (but for
the id that the request itself named), ids of the other are answered like ids that do not exist, and what
belongs to one is changed by its own acts alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Reply, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.api.world import GIVEN, SECRET_KEY, World, belongings, kinds_of
from tests.seeding import Store

STEPS = 150
MARKS = ("ash-tree", "oak-tree")
#: What is not of a namespace, and why.
APART = {
    "get_cluster": "of all namespaces",
    "examine_cluster": "of all namespaces",
    "drain_node": "of all namespaces",
    "metrics": "of all namespaces",
    "create_namespace": "of all namespaces",
    "change_namespace": "of all namespaces",
    "healthz": "says nothing of any",
    "readyz": "says nothing of any",
    "explain_schedule_text": "reads nothing",
    "list_zones": "reads nothing",
    "get_session": "of a person",
    "end_session": "of a person",
    "list_sessions": "of a person",
    "end_sessions": "of a person",
    "end_one_session": "of a person",
    "make_link": "of a person",
    "get_events": "one feed for all that a key may see: tests/api/console/test_events.py",
    "stream_recipient_inbox": "goes on until its token ends: tests/api/notifications/test_inbox.py",
}
ACTS = [one for one in operations() if one.name not in APART]
#: What ends things.
ENDS = re.compile(
    r"delete|erase|cancel|remove|revoke|discard|redrive_dead|leave_worker|complete|act_on_[crt]"
)
#: Ids of two kinds may be alike: these count in a field of their own.
AMBIGUOUS = {
    "key": "key_id", "campaign": "campaign_id", "notification": "notification_id", "worker": "worker_id",
}  # fmt: skip
#: Statuses that an act on one's own may have, beside success: something else was done to it before.
REFUSED = {409}


@pytest_asyncio.fixture
async def worlds(database: Database) -> AsyncIterator[tuple[World, World]]:
    settings = Settings(api_keys=CONFIGURED, api_rate=0, secret_key=SECRET_KEY)
    async with serve(database, settings) as api:
        made = []
        for mark in MARKS:
            assert (await api("POST", "/namespaces", {"name": mark}, headers=ADMIN)).status == 201
            headers = await make_key(api, "admin", mark)
            made.append(World(api, Store(database), headers, mark, mark))
            await made[-1].furnish()
        yield made[0], made[1]


def test_what_is_apart_is_there() -> None:
    assert set(APART) <= {one.name for one in operations()}


async def test_every_operation_is_carried_out_on_what_is_ones_own(worlds: tuple[World, World]) -> None:
    """So that the walk below is not one of refusals. A new operation needs a valid request in `world`."""
    world, other = worlds
    wrong = []
    for one in sorted(ACTS, key=_order):
        if _order(one) or one.tokened:
            for kind in (GIVEN - {"job", "namespace"}) & set(kinds_of(one).values()):
                world.ids.pop(kind)  # a new one: that before may have ended
        request = await world.request(one)
        before = await belongings(other)
        reply = await world.send(one.name, request=request)
        check_own(reply, world, other, one)
        if reply.status >= 300 and reply.status not in REFUSED:
            wrong.append((one.name, reply.status, reply.content))
        assert await belongings(other) == before, one.name
    assert not wrong, "\n".join(map(str, wrong))


def _order(one: Operation) -> int:
    """What others need is ended last."""
    if one.name in ("act_on_recipients", "act_on_templates"):
        return 3
    last = ("delete_job", "erase_recipient", "delete_template")
    return 2 if one.name in last else bool(ENDS.search(one.name))


@pytest.mark.parametrize("seed", range(2))
async def test_neither_sees_or_touches_what_is_the_others(worlds: tuple[World, World], seed: int) -> None:
    chance = random.Random(seed)
    answered: set[int] = set()
    for step in range(STEPS):
        actor, other = chance.sample(worlds, 2)
        one = chance.choice(ACTS)
        owners = {name: chance.choice((actor, other)) for name in kinds_of(one)}
        ids = {name: owners[name].ids[kind] for name, kind in kinds_of(one).items()}
        foreign = {name for name, kind in kinds_of(one).items() if kind in GIVEN and owners[name] is other}
        request = await actor.request_with(one, ids)
        before = await belongings(other)
        reply = await actor.send(one.name, request=request)
        answered.add(reply.status)
        where = (step, one.name, request.path, reply.content)
        assert reply.status < 500, where
        if one.tokened:
            continue  # who has the token may: whose key comes along does not count
        if foreign:
            assert reply.status == 404, where
        check_own(reply, actor, other, one, allowed={ids[name] for name in foreign})
        assert await belongings(other) == before, where
    assert {200, 201, 404} <= answered


def check_own(
    reply: Reply, actor: World, other: World, one: Operation, allowed: set[str] | None = None
) -> None:
    """Nothing of the other one is in the answer, beside what the request named."""
    text = reply.content.decode()
    for named in allowed or ():
        text = text.replace(named, "")
    assert other.mark not in text, (one.name, text)
    for kind in GIVEN:
        field = AMBIGUOUS.get(kind)
        told = f'"{field}":"{other.ids[kind]}"' if field else f'"{other.ids[kind]}"'
        assert told not in text, (one.name, text)
