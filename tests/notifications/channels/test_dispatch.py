"""Which provider sends, what follows a failure, and what is kept of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sexton import clock
from sexton.config import Settings
from sexton.notifications.channels.base import (
    Accepted,
    ChannelProvider,
    Deferred,
    Failed,
    Outgoing,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.notifications.channels.configured import delete_provider, put_provider
from sexton.notifications.channels.dispatch import Dispatched, Dispatcher
from sexton.notifications.channels.file import outbox_of, written
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.channels.table import provider_kinds
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.targets.http.outbound import Outbound
from sexton.targets.table import make_services
from tests.notifications.channels.lending import outgoing
from tests.seeding import Store

Answer = Callable[[Sequence[Outgoing]], Sequence[SendResult]]


class Told:
    """What the providers of a test answer, by their names, and what they were given."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.given: list[tuple[str, list[Outgoing]]] = []

    def kind(self) -> type[ChannelProvider]:
        told = self

        class ToldProvider(ChannelProvider):
            async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
                told.given.append((self.services.name, list(batch)))
                answer = told.answers.get(self.services.name)
                return [Accepted()] * len(batch) if answer is None else answer(batch)

            async def close(self) -> None:
                """Nothing was opened."""

        return ToldProvider


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    made = Told()
    monkeypatch.setitem(provider_kinds(), "told", made.kind())
    return made


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@asynccontextmanager
async def dispatching(database: Database, **settings: Any) -> AsyncIterator[Dispatcher]:
    known = Settings(database_url="postgresql://elsewhere/x", **settings)
    outbound = Outbound(known)
    dispatcher = Dispatcher(make_services(database, known, outbound))
    yield dispatcher
    await dispatcher.close()
    await outbound.close()


def each(result: SendResult) -> Answer:
    return lambda batch: [result] * len(batch)


async def put(database: Database, name: str, *, namespace: str = "default", **more: Any) -> None:
    spec = ProviderSpec(**{"channel": "email", "kind": "told", **more})
    await put_provider(Context(database, namespace, actor="tester"), name, spec)


async def test_the_first_by_priority_sends(database: Database, told: Told) -> None:
    await put(database, "second", priority=20)
    await put(database, "first", priority=10)
    await put(database, "off", priority=1, enabled=False)
    async with dispatching(database) as dispatcher:
        done = await dispatcher.dispatch("default", "email", [outgoing(1), outgoing(2)])
    assert done == [Dispatched("first", Accepted()), Dispatched("first", Accepted())]
    assert [name for name, _ in told.given] == ["first"]


async def test_what_was_certainly_not_sent_goes_to_the_next(database: Database, told: Told) -> None:
    await put(database, "first", priority=1)
    await put(database, "second", priority=2)
    told.answers["first"] = lambda _: [
        Accepted("a"), Failed("busy"), Rejected("no"), Unclear("cut off"), Deferred("slowly", 7),
    ]  # fmt: skip
    async with dispatching(database) as dispatcher:
        done = await dispatcher.dispatch("default", "email", [outgoing(number) for number in range(5)])
    assert done == [
        Dispatched("first", Accepted("a")),
        Dispatched("second", Accepted(), "first: busy"),
        Dispatched("first", Rejected("no")),
        Dispatched("first", Unclear("cut off")),
        Dispatched("second", Accepted(), "first: slowly"),
    ]
    assert [message.message_id for message in told.given[1][1]] == [1, 4]


async def test_if_all_fail_the_first_says_why_and_the_note_the_others(database: Database, told: Told) -> None:
    await put(database, "first", priority=1)
    await put(database, "second", priority=2)
    told.answers = {"first": each(Failed("down", 60)), "second": each(Failed("down too"))}
    async with dispatching(database) as dispatcher:
        [done] = await dispatcher.dispatch("default", "email", [outgoing()])
    assert done == Dispatched("first", Failed("down", 60), "second: down too")


async def test_an_open_circuit_charges_no_attempt(database: Database, told: Told, store: Store) -> None:
    await put(database, "only")
    told.answers["only"] = each(Failed("down"))
    async with dispatching(database, http_breaker_failures=3) as dispatcher:
        first = await dispatcher.dispatch("default", "email", [outgoing(number) for number in range(5)])
        # Three failures open it: those after them were not sent either, and are not charged.
        assert [type(done.result) for done in first] == [Failed, Failed, Failed, Deferred, Deferred]
        [then] = await dispatcher.dispatch("default", "email", [outgoing()])
        assert isinstance(then.result, Deferred)
        assert 0 < then.result.seconds <= 30
        assert len(told.given) == 1
        reason = await store.value("select open_reason from sexton.notification_health")
        assert reason == "3 failures in a row: down"
    # Another process hears of it without trying.
    async with dispatching(database) as other:
        [there] = await other.dispatch("default", "email", [outgoing()])
    assert isinstance(there.result, Deferred)
    assert len(told.given) == 1


async def test_a_probe_closes_the_circuit(
    database: Database, told: Told, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    await put(database, "only")
    told.answers["only"] = each(Failed("down"))
    batch = [outgoing(number) for number in range(4)]
    async with dispatching(database, http_breaker_failures=2) as dispatcher:
        await dispatcher.dispatch("default", "email", batch)
        now[0] += 31
        await store.execute("update sexton.notification_health set open_until = now() - interval '1 s'")
        again = await dispatcher.dispatch("default", "email", batch)
        # One found out that it is still down; the others were not tried.
        assert [type(done.result) for done in again] == [Failed, Deferred, Deferred, Deferred]
        assert len(told.given[-1][1]) == 1
        now[0] += 31
        await store.execute("update sexton.notification_health set open_until = now() - interval '1 s'")
        told.answers.clear()
        back = await dispatcher.dispatch("default", "email", batch)
        assert {type(done.result) for done in back} == {Accepted}
    assert await store.value("select open_until from sexton.notification_health") is None


async def test_other_providers_stand_in_while_a_circuit_is_open(database: Database, told: Told) -> None:
    await put(database, "first", priority=1)
    await put(database, "second", priority=2)
    told.answers["first"] = each(Deferred("429: slowly", 60))
    async with dispatching(database) as dispatcher:
        await dispatcher.dispatch("default", "email", [outgoing(1)])
        [done] = await dispatcher.dispatch("default", "email", [outgoing(2)])
    assert done.provider == "second"
    assert done.note == "first: first is paused: 429: slowly"
    assert [name for name, _ in told.given] == ["first", "second", "second"]


async def test_a_rate_is_kept_by_all_processes_together(database: Database, told: Told) -> None:
    await put(database, "slow", rate=2)
    async with dispatching(database) as one, dispatching(database) as other:
        batch = [outgoing(number) for number in range(30)]
        results = [
            *await one.dispatch("default", "email", batch),
            *await other.dispatch("default", "email", batch),
        ]
    sent = [done for done in results if isinstance(done.result, Accepted)]
    put_off = [done.result for done in results if isinstance(done.result, Deferred)]
    # A second's worth at once, and what falls due while a batch waits.
    assert 2 <= len(sent) <= 14
    assert len(sent) + len(put_off) == 60
    assert {result.reason for result in put_off} == {"slow takes 2 messages a second"}
    # They come back one after the other, not all at once.
    seconds = [result.seconds for result in put_off[:10]]
    assert seconds == sorted(seconds)
    assert seconds[-1] - seconds[0] == pytest.approx(4.5)


async def test_another_namespace_cannot_use_a_provider(database: Database, told: Told) -> None:
    await put(database, "mine", namespace="default")
    async with dispatching(database) as dispatcher:
        [done] = await dispatcher.dispatch("other", "email", [outgoing()])
    assert isinstance(done.result, Failed)
    assert done.result.code == "no_provider"
    assert told.given == []


async def test_a_change_counts_from_the_next_batch(database: Database, told: Told) -> None:
    await put(database, "only")
    async with dispatching(database) as dispatcher:
        assert (await dispatcher.dispatch("default", "email", [outgoing()]))[0].provider == "only"
        await put(database, "only", on_doubt="resend")
        assert await dispatcher.doubt("default", "email") == "resend"
        await delete_provider(Context(database), "only")
        [done] = await dispatcher.dispatch("default", "email", [outgoing()])
        assert done.provider is None


async def test_what_a_provider_raises_is_unclear(
    database: Database, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    await put(database, "only")

    def broken(batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        raise RuntimeError("what?")

    told.answers["only"] = broken
    async with dispatching(database) as dispatcher:
        [done] = await dispatcher.dispatch("default", "email", [outgoing()])
        assert isinstance(done.result, Unclear)
        told.answers["only"] = lambda batch: []
        [done] = await dispatcher.dispatch("default", "email", [outgoing()])
        assert isinstance(done.result, Unclear)
    assert "what?" in caplog.text


async def test_gone_addresses_are_suppressed(database: Database, told: Told, store: Store) -> None:
    await put(database, "only")
    told.answers["only"] = lambda _: [Rejected("550 5.1.1 no", "5.1.1", gone=True), Rejected("spam")]
    async with dispatching(database) as dispatcher:
        await dispatcher.dispatch(
            "default", "email", [outgoing(1, "Ann@Example.com"), outgoing(2, "b@x.test")]
        )
    rows = await store.fetch("select namespace, channel, address, reason from sexton.suppressions")
    assert [tuple(row) for row in rows] == [("default", "email", "ann@example.com", "bounced: 550 5.1.1 no")]


async def test_push_goes_to_every_device_and_gone_ones_are_removed(
    database: Database, told: Told, store: Store
) -> None:
    devices = [{"kind": "fcm", "token": "a"}, {"kind": "fcm", "token": "b"}, {"kind": "fcm", "token": "c"}]
    await store.execute(
        "insert into sexton.recipients (namespace, user_id, devices, created_at, updated_at)"
        """ values ('default', 'ann', '[{"kind": "fcm", "token": "a"}, {"token": "b", "kind": "fcm"},"""
        """ {"kind": "fcm", "token": "c"}]', now(), now())"""
    )
    await put(database, "only", channel="push")
    told.answers["only"] = lambda _: [Accepted("1"), Rejected("gone", "404", gone=True), Failed("busy")]
    async with dispatching(database) as dispatcher:
        [done] = await dispatcher.dispatch("default", "push", [outgoing(1, devices, user_id="ann")])
        [none] = await dispatcher.dispatch("default", "push", [outgoing(2, [], user_id="ann")])
    assert done.result == Accepted("1")
    assert done.note == "1 of 3 devices; the others: busy; gone"
    keys = [message.key for message in told.given[0][1]]
    assert len(set(keys)) == 3
    assert isinstance(none.result, Rejected)
    left = await store.value("select devices from sexton.recipients")
    assert left == '[{"kind": "fcm", "token": "a"}, {"kind": "fcm", "token": "c"}]'


async def test_without_a_provider_development_writes_files(
    database: Database, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path)
    outbound = Outbound(settings)
    dispatcher = Dispatcher(make_services(database, settings, outbound))
    for _ in range(2):
        [done] = await dispatcher.dispatch("default", "email", [outgoing(key="n/1")])
    await dispatcher.dispatch("default", "sms", [outgoing(2, "+4912345", parts={"text": "Hi"})])
    await dispatcher.close()
    await outbound.close()
    assert done.provider == "file"
    assert done.note is not None
    assert "outbox" in done.note
    assert caplog.text.count("no provider is configured") == 2  # once for each channel
    found = written(settings, "default", limit=10)
    assert {(each["channel"], each["address"]) for each in found} == {
        ("email", "ann@example.com"),
        ("sms", "+4912345"),
    }
    assert len(list(outbox_of(settings).rglob("*.eml"))) == 1
    assert written(settings, "other", limit=10) == []


async def test_counts_are_kept_for_the_console(database: Database, told: Told, store: Store) -> None:
    await put(database, "only")
    told.answers["only"] = lambda _: [Accepted(), Rejected("no"), Failed("busy", ours=True), Unclear("cut")]
    async with dispatching(database) as dispatcher:
        await dispatcher.dispatch("default", "email", [outgoing(number) for number in range(4)])
    row = await store.row(
        "select accepted, rejected, failed, unclear, deferred, failure from sexton.notification_health"
    )
    assert tuple(row) == (1, 1, 1, 1, 0, "no")


async def test_every_mail_has_a_link_that_unsubscribes(database: Database, told: Told) -> None:
    await put(database, "only")
    async with dispatching(database, public_url="https://sexton.example.com") as dispatcher:
        await dispatcher.dispatch("default", "email", [outgoing(1, topic="offers", user_id="ann")])
    headers = told.given[0][1][0].headers
    link = headers["List-Unsubscribe"].strip("<>")
    assert link.startswith("https://sexton.example.com/api/v1/notifications/unsubscribe/")
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
