"""Sessions and the links that begin them: made, listed, ended."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton import clock
from sexton.config import Settings
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.errors import NotFound, SextonError
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.key_spec import KeySpec
from sexton.security.keys import create_key, revoke_key
from sexton.security.principal import Principal, owner
from sexton.security.role import Role
from sexton.security.session_table import SessionTable
from sexton.security.sessions import (
    NewSession,
    Visitor,
    end_session,
    end_sessions,
    list_sessions,
    make_link,
    sign_in_person,
    sign_in_with_link,
)
from tests.seeding import Store

SETTINGS = Settings()
ROOT = owner("user:root", "user:0")
KIM = Principal("person:kim", {"default": Role.EDITOR}, credential="openid:issuer kim")
HERE = Visitor("127.0.0.1", "a browser")


async def signed_in(database: Database, person: Principal = KIM) -> NewSession:
    return await sign_in_person(Context(database), person, HERE, SETTINGS)


async def find(database: Database, made: NewSession) -> Principal | None:
    """Who holds a session, for a process that has just started."""
    found = await SessionTable(database, SETTINGS).find(made.token)
    return None if found is None else found.principal


async def test_a_link_gives_a_session_with_the_same_roles(database: Database) -> None:
    link = await make_link(Context(database), ROOT)
    made = await sign_in_with_link(Context(database), link.token, HERE, SETTINGS)
    assert made is not None
    found = await find(database, made)
    assert found is not None
    assert (found.name, found.grants, found.credential) == (ROOT.name, ROOT.grants, ROOT.credential)
    assert (made.view.method, made.view.address, made.view.agent) == ("link", "127.0.0.1", "a browser")


async def test_a_link_is_good_once(database: Database) -> None:
    link = await make_link(Context(database), ROOT)
    assert await sign_in_with_link(Context(database), link.token, HERE, SETTINGS) is not None
    assert await sign_in_with_link(Context(database), link.token, HERE, SETTINGS) is None


async def test_a_link_is_good_for_ten_minutes(database: Database) -> None:
    link = await make_link(Context(database), ROOT)
    for minutes, good in ((10, False), (9, True)):
        await Store(database).fetch("update sexton.sign_in_links set expires_at = $1", link.expires_at)
        later = Context(database, now=link.expires_at - timedelta(minutes=10) + timedelta(minutes=minutes))
        made = await sign_in_with_link(later, link.token, HERE, SETTINGS)
        assert (made is not None) is good
        link = await make_link(Context(database), ROOT)


async def test_only_hashes_are_kept(database: Database) -> None:
    link = await make_link(Context(database), ROOT)
    rows = await Store(database).fetch("select l::text as text from sexton.sign_in_links as l")
    made = await signed_in(database)
    rows += await Store(database).fetch("select s::text as text from sexton.sessions as s")
    assert len(rows) == 2
    for row in rows:
        for token in (link.token, made.token):
            assert token not in row["text"]
            assert token.encode().hex() not in row["text"]


async def test_a_session_makes_no_link(database: Database) -> None:
    """It could go on for ever."""
    found = await find(database, await signed_in(database, ROOT))
    assert found is not None
    with pytest.raises(SextonError) as refused:
        await make_link(Context(database), found)
    assert refused.value.code == "forbidden"


async def test_a_session_ends_with_the_key_it_came_from(database: Database) -> None:
    key = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    number = (await Store(database).fetch("select id from sexton.keys"))[0]["id"]
    holder = Principal("key:ci", {"default": Role.VIEWER}, number, f"key:{number}")
    links = [await make_link(Context(database), holder) for _ in range(2)]
    made = await sign_in_with_link(Context(database), links[0].token, HERE, SETTINGS)
    assert made is not None
    assert await find(database, made) is not None
    await revoke_key(Context(database), key.key_id)
    assert await find(database, made) is None
    assert await sign_in_with_link(Context(database), links[1].token, HERE, SETTINGS) is None


@pytest.mark.parametrize(
    ("column", "seconds", "good"),
    [
        ("expires_at", 1.0, True),
        ("expires_at", -1.0, False),
        ("used_at", 1.0 - SETTINGS.session_idle_seconds, True),
        ("used_at", -1.0 - SETTINGS.session_idle_seconds, False),
    ],
)
async def test_a_session_ends_at_its_time_and_unused(
    database: Database, column: str, seconds: float, good: bool
) -> None:
    made = await signed_in(database)
    seconds += 30 if good else 0  # the test takes a while itself
    await Store(database).fetch(
        f"update sexton.sessions set {column} = now() + $1", timedelta(seconds=seconds)
    )
    assert (await find(database, made) is not None) is good
    assert (await list_sessions(Context(database), SETTINGS, KIM) != []) is good


async def test_the_use_of_a_session_is_noted_once_a_minute(database: Database) -> None:
    made = await signed_in(database)
    for minutes, noted in ((0.5, False), (2, True)):
        before = clock.now() - timedelta(minutes=minutes)
        await Store(database).fetch("update sexton.sessions set used_at = $1", before)
        await find(database, made)
        [row] = await Store(database).fetch("select used_at from sexton.sessions")
        assert (row["used_at"] > before) is noted


async def test_signing_out_ends_one_session_and_everywhere_all_of_a_person(database: Database) -> None:
    first, second, third = [await signed_in(database) for _ in range(3)]
    another = await signed_in(database, ROOT)
    await end_session(Context(database), first.view.session_id, KIM)
    assert [await find(database, each) is None for each in (first, second, third)] == [True, False, False]
    assert await end_sessions(Context(database), credential=KIM.credential) == 2
    assert [await find(database, each) is None for each in (first, second, third)] == [True] * 3
    assert await find(database, another) is not None
    assert await end_sessions(Context(database), name="user:root") == 1
    assert await find(database, another) is None


async def test_the_sessions_of_others_are_not_there(database: Database) -> None:
    theirs = await signed_in(database, ROOT)
    assert await list_sessions(Context(database), SETTINGS, KIM) == []
    with pytest.raises(NotFound):
        await end_session(Context(database), theirs.view.session_id, KIM)
    with pytest.raises(NotFound):
        await end_session(Context(database), "s_!", KIM)
    everyones = await list_sessions(Context(database), SETTINGS, KIM, every=True)
    assert [each.session_id for each in everyones] == [theirs.view.session_id]
    await end_session(Context(database), theirs.view.session_id, KIM, any_=True)
    assert await find(database, theirs) is None


async def test_a_made_up_token_costs_no_statement(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SessionTable(database, SETTINGS)
    await table.pepper()
    link = await make_link(Context(database), ROOT)
    asked: list[str] = []
    monkeypatch.setattr(database, "fetchrow", lambda statement, **_: asked.append(statement))
    for token in ("", "x" * 64, "é", link.token):
        assert await table.find(token) is None
    assert asked == []


async def test_a_session_is_looked_up_once_a_second(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await signed_in(database)
    table = SessionTable(database, SETTINGS)
    now = [clock.monotonic()]
    monkeypatch.setattr("sexton.security.session_table.clock.monotonic", lambda: now[0])
    assert await table.find(made.token) is not None
    await end_sessions(Context(database), credential=KIM.credential)
    assert await table.find(made.token) is not None
    now[0] += 1
    assert await table.find(made.token) is None


async def test_what_has_ended_long_ago_is_removed(database: Database) -> None:
    await signed_in(database)
    await make_link(Context(database), ROOT)
    for days, left in ((0.6, 1), (2, 0)):
        later = clock.now() + timedelta(days=days)
        await Housekeeper(database, SETTINGS, now=lambda later=later: later).tick()  # type: ignore[misc]
        for table in ("sessions", "sign_in_links"):
            [row] = await Store(database).fetch(f"select count(*) from sexton.{table}")
            assert row["count"] == left
