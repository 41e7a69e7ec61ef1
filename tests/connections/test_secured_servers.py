"""Real servers with TLS, client certificates and passwords: queues, targets and electors reach them, a client
that lacks something does not, and no message tells the password."""

from __future__ import annotations

import asyncio
import logging
import secrets as tokens
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from aetcd import rpc
from grpc import ssl_channel_credentials  # type: ignore[import-untyped]

from sexton.config import Settings, load
from sexton.engine.cluster.electors.base import Elector, View
from sexton.engine.cluster.electors.choice import choose_elector
from sexton.engine.doorbells.base import Broker, Notice
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.worker.receiver import read_notice
from sexton.errors import Unavailable
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from tests.engine.doorbells.server import own_server
from tests.engine.doorbells.suite import collect, patiently
from tests.servers.address import address
from tests.servers.kafka_gate import kafka_gate
from tests.servers.secured import LOGIN, PASSWORD, STARTS, USER
from tests.servers.table import SERVERS, Server
from tests.targets.carrying import carry_out, end_of
from tests.targets.services import Authority, make_authority
from tests.waiting import PATIENCE

pytestmark = pytest.mark.servers

VARIABLES = {server.name: server.variable for server in SERVERS}


@dataclass(frozen=True)
class Secured:
    """A server, and the address of it for those who know everything."""

    authority: Authority
    bare: str

    @property
    def url(self) -> str:
        return f"{self.bare}?ca={self.authority.ca}&cert={self.authority.client}"

    def lacking(self, folder: Path) -> dict[str, str]:
        """Addresses of those who lack something."""
        others = make_authority(folder)
        return {
            "certificate": f"{self.bare}?ca={self.authority.ca}",
            "authority": f"{self.bare}?ca={others.ca}&cert={self.authority.client}",
            "password": self.url.replace(LOGIN, f"{USER}:{LOGIN}"),
        }


@contextmanager
def secured(name: str, folder: Path) -> Iterator[Secured]:
    address(VARIABLES[name])  # whether it is installed here
    authority = make_authority(folder)
    place = folder / name
    place.mkdir()
    entry = Server(name, "", lambda place: STARTS[name](authority, place), programs=())
    with own_server(entry, place) as server:
        yield Secured(authority, server.url)


def broker(url: str) -> Broker:
    make = choose_broker(load({"queue_url": url}, environment={}))
    assert make is not None
    return make(tokens.token_hex(8))


def told(caplog: pytest.LogCaptureFixture, *errors: str) -> None:
    """That no message has the password, in whichever way it is written."""
    for text in (caplog.text, *errors):
        assert PASSWORD not in text
        assert quote(PASSWORD, safe="") not in text


def other(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("name", "kind"), [("redis", "redis"), ("rabbitmq", "rabbitmq"), ("nats", "nats"), ("mosquitto", "mqtt")]
)
async def test_queues_and_targets(
    database: Database, name: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with secured(name, tmp_path) as server:
        topic = "orders"
        if kind != "mqtt":
            topic = await use_queue(server)
            await use_queue_without(server, other(tmp_path / "other"), caplog)
        await use_target(database, kind, server, topic, caplog)


async def use_queue(server: Secured) -> str:
    """Returns the name of a place in the broker that is there then."""
    queue = broker(server.url)
    await patiently(lambda: queue.publish([Notice(1, [7])]))
    [got] = await collect(queue, [1], 1)
    assert read_notice(got.body) == Notice(1, [7])
    await queue.acknowledge([got])
    await queue.close()
    return queue.name_of(1)


async def use_queue_without(server: Secured, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for lack, url in server.lacking(folder).items():
        queue = broker(url)
        with pytest.raises(Unavailable) as refused:
            async with asyncio.timeout(PATIENCE):
                await queue.publish([Notice(1, [8])])
        await queue.close()
        if lack == "authority" and queue.name != "kafka":  # whose client only logs why
            assert "certificate" in str(refused.value).lower()
        told(caplog, str(refused.value))


async def use_target(
    database: Database, kind: str, server: Secured, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The password, and what would be in the files, come from secrets."""
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "password", PASSWORD)
    await secrets.keep(Context(database), settings, "ca", server.authority.ca.read_text())
    await secrets.keep(Context(database), settings, "cert", server.authority.client.read_text())
    url = server.bare.replace(LOGIN, f"{USER}:${{secret:password}}")
    # A stream of the queue is not for others in Redis.
    message = {"broker": kind, "topic": "orders" if kind == "redis" else topic}
    for query, good in (("?ca=${secret:ca}&cert=${secret:cert}", True), ("?ca=${secret:ca}", False)):
        target = {"message": {**message, "url": url + query}}
        store, run = await carry_out(database, target, {"secret_key": settings.secret_key}, max_retries=3)
        if good:
            assert (await end_of(store, run))[0] == "success"
        else:
            row = await store.live(run)
            assert row["state"] == "failed"
            told(caplog, row["error"])


async def test_kafka(database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Through a gate in front of a cluster that has neither TLS nor users."""
    caplog.set_level(logging.DEBUG)
    cluster = address("SEXTON_TEST_KAFKA_URL")
    authority = make_authority(tmp_path)
    context = authority.context(client_needed=True)
    async with kafka_gate(cluster, context, USER, PASSWORD) as place:
        server = Secured(authority, f"kafka+ssl://{LOGIN}@{place}")
        await use_queue(server)
        await use_queue_without(server, other(tmp_path / "other"), caplog)
        await use_target(database, "kafka", server, f"t-{tokens.token_hex(6)}", caplog)


async def test_a_nats_that_does_not_encrypt_gets_no_password() -> None:
    plain = address("SEXTON_TEST_NATS_URL")
    queue = broker(plain.replace("nats://", f"tls://{LOGIN}@"))
    with pytest.raises(Unavailable, match="does not ask for TLS, so the password was not sent"):
        await queue.publish([])
    await queue.close()


@pytest.mark.parametrize("name", ["redis", "etcd"])
async def test_electors(
    database: Database, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    view = View(1, {0: 1, 1: 1}, {0: None, 1: None}, frozenset({1}))

    def elector(url: str) -> Elector:
        return choose_elector(load({"elector": url, "lease_seconds": 60}, environment={}), database)

    with secured(name, tmp_path) as server:
        if name == "etcd":
            await patiently(lambda: make_user(server))
        ours, others = elector(server.url), elector(server.url)
        for each in (ours, others):
            await each.open("cluster")
            await patiently(lambda each=each: each.renew(view))  # type: ignore[misc]
        # Patiently: a slow machine may take longer than a lease allows for, and an answer may be lost.
        await patiently(lambda: ours.acquire([0, 1], view))
        assert await patiently(lambda: others.acquire([0, 1], view)) == set()
        assert await patiently(lambda: ours.renew(view)) == {0, 1}
        for each in (ours, others):
            await each.close()
        for url in server.lacking(other(tmp_path / "other")).values():
            without = elector(url)
            await without.open("cluster")
            with pytest.raises(Unavailable) as refused:
                async with asyncio.timeout(PATIENCE):
                    await without.renew(view)
            told(caplog, str(refused.value))
            await without.close()


async def make_user(server: Secured) -> None:
    """The one who may do everything, without whom etcd asks no client for a password; and ours."""
    files = server.authority
    key = files.client.read_bytes()
    place = server.bare.rpartition("@")[2]
    channel = rpc.secure_channel(place, ssl_channel_credentials(files.ca.read_bytes(), key, key))
    users = rpc.AuthStub(channel)
    calls = [
        call
        for user in ("root", USER)
        for call in (
            (users.UserAdd, rpc.AuthUserAddRequest(name=user, password=PASSWORD)),
            (users.UserGrantRole, rpc.AuthUserGrantRoleRequest(user=user, role="root")),
        )
    ]
    try:
        for ask, request in (*calls, (users.AuthEnable, rpc.AuthEnableRequest())):
            try:
                await ask(request)
            except rpc.AioRpcError as error:
                # It may have been done by an earlier try whose answer was lost.
                if "already" not in (error.details() or "") and "user name is empty" not in error.details():
                    raise Unavailable("elector_unavailable", error.details() or "") from error
    finally:
        await channel.close()
