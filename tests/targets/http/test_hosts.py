"""What a process knows of its hosts: limits, pace, circuits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sexton import clock
from sexton.config import Settings
from sexton.targets.http.hosts import Host, HostBusy, Hosts

ORIGIN = "http://service.test:80"


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test moves; sleeping moves it as well."""
    moment = [1000.0]

    async def sleep(seconds: float) -> None:
        moment[0] += seconds

    monkeypatch.setattr(clock, "monotonic", lambda: moment[0])
    monkeypatch.setattr(clock, "sleep", sleep)
    return moment


async def ask(hosts: Hosts, status: int | None = 200, origin: str = ORIGIN) -> None:
    """One request; None: there is no answer."""
    async with hosts.admit(origin) as permit:
        if status is None:
            permit.failed()
        else:
            permit.answered(status)


async def fail(hosts: Hosts, times: int, status: int | None = 503) -> None:
    for _ in range(times):
        await ask(hosts, status)


def breaking(**settings: Any) -> Hosts:
    return Hosts(Settings(http_breaker_failures=3, http_breaker_seconds=30, **settings))


@pytest.mark.parametrize("status", [None, 500, 503])
async def test_a_circuit_opens_after_failures_in_a_row(time: list[float], status: int | None) -> None:
    hosts = breaking()
    await fail(hosts, 2, status)
    assert hosts.opened() == []
    await fail(hosts, 1, status)
    assert hosts.opened() == [ORIGIN]
    with pytest.raises(HostBusy, match="3 in a row failed") as busy:
        await ask(hosts)
    assert 30 <= busy.value.seconds <= 35
    await ask(hosts, origin="http://other.test:80")


async def test_failures_of_one_namespace_keep_a_host_from_no_other(time: list[float]) -> None:
    hosts = breaking()
    for _ in range(3):
        async with hosts.admit(ORIGIN, "shop") as permit:
            permit.answered(500)
    with pytest.raises(HostBusy, match="3 in a row failed"):
        async with hosts.admit(ORIGIN, "shop"):
            pass
    async with hosts.admit(ORIGIN, "billing") as permit:
        permit.answered(200)
    assert hosts.opened() == [ORIGIN]


async def test_anything_but_a_failure_starts_the_count_again(time: list[float]) -> None:
    hosts = breaking()
    for status in (200, 404, 429):
        await fail(hosts, 2)
        await ask(hosts, status)
    assert hosts.opened() == []


async def test_failures_far_apart_do_not_open_it(time: list[float]) -> None:
    hosts = breaking()
    for _ in range(6):
        await fail(hosts, 1)
        time[0] += 40
    assert hosts.opened() == []


async def test_one_probe_decides(time: list[float]) -> None:
    hosts = breaking()
    await fail(hosts, 3)
    time[0] += 31
    async with hosts.admit(ORIGIN) as probe:
        with pytest.raises(HostBusy, match="after failures"):
            await ask(hosts)
        probe.answered(500)
    with pytest.raises(HostBusy):
        await ask(hosts)
    time[0] += 31
    await ask(hosts, 200)
    await ask(hosts, 200)


async def test_a_probe_that_is_cancelled_lets_another_one_go(time: list[float]) -> None:
    hosts = breaking()
    await fail(hosts, 3)
    time[0] += 31
    with pytest.raises(asyncio.CancelledError):
        async with hosts.admit(ORIGIN):
            raise asyncio.CancelledError
    await ask(hosts, 200)
    assert hosts.opened() == []


async def test_without_a_threshold_a_host_is_always_asked(time: list[float]) -> None:
    hosts = Hosts(Settings(http_breaker_failures=0))
    await fail(hosts, 100)
    await ask(hosts)


async def test_no_more_than_so_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.targets.http.hosts.PATIENCE_SECONDS", 0.01)
    hosts = Hosts(Settings(http_per_host=2))
    async with hosts.admit(ORIGIN), hosts.admit(ORIGIN):
        with pytest.raises(HostBusy, match="2 requests under way"):
            await ask(hosts)
        await ask(hosts, origin="http://other.test:80")
    await ask(hosts)


async def test_a_waiting_request_gets_the_next_place() -> None:
    hosts = Hosts(Settings(http_per_host=1))
    order: list[int] = []

    async def one(number: int) -> None:
        async with hosts.admit(ORIGIN):
            order.append(number)

    async with hosts.admit(ORIGIN):
        waiting = [asyncio.create_task(one(number)) for number in range(3)]
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]


async def test_requests_go_out_at_a_pace(time: list[float]) -> None:
    hosts = Hosts(Settings(http_rate_per_host=10))
    began = time[0]
    for _ in range(10):
        await ask(hosts)
    assert time[0] == pytest.approx(began)  # a second's worth at once
    for _ in range(20):
        await ask(hosts)
    assert time[0] - began == pytest.approx(2.0)


async def test_a_turn_that_is_far_off_is_not_waited_for(time: list[float], monkeypatch: Any) -> None:
    monkeypatch.setattr(clock, "sleep", lambda seconds: asyncio.sleep(0))
    hosts = Hosts(Settings(http_rate_per_host=0.5))
    await ask(hosts)
    with pytest.raises(HostBusy, match=r"0\.5 requests a second") as busy:
        await ask(hosts)
    assert busy.value.seconds == pytest.approx(2.0)


async def test_hosts_that_are_well_are_forgotten(time: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.targets.http.hosts.MOST_HOSTS", 3)
    hosts = breaking()
    await fail(hosts, 3)
    for number in range(10):
        await ask(hosts, origin=f"http://{number}.test:80")
    assert len(hosts._hosts) <= 3
    assert hosts.opened() == [ORIGIN]


async def test_failures_of_long_ago_are_forgotten(time: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has sent something to very many hosts must not remember each that failed once."""
    monkeypatch.setattr("sexton.targets.http.hosts.MOST_HOSTS", 3)
    hosts = breaking()
    for number in range(10):
        for _ in range(1 + number % 2 * 2):  # every other one opens its circuit
            await ask(hosts, 503, f"http://{number}.test:80")
        time[0] += 91
    assert len(hosts._circuits) <= 3


def test_a_host_that_is_in_use_is_not_forgotten() -> None:
    assert Host(ORIGIN, Settings()).forgettable
