"""SQS as the queue, played by moto: it has SQS's interface, and forgets everything when it is restarted."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from sexton.engine.doorbells.base import Broker
from sexton.engine.doorbells.sqs import SqsBroker
from tests.engine.doorbells.server import OwnServer, own_server
from tests.engine.doorbells.suite import BrokerSuite
from tests.servers.address import address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    address("SEXTON_TEST_SQS_URL")
    with own_server("sqs", tmp_path_factory.mktemp("sqs")) as made:
        yield made


@pytest.mark.servers
class TestSqs(BrokerSuite):
    # Standard queues deliver at least once, and moto gives one message to two calls at the same time.
    once = False

    @pytest.fixture(autouse=True)
    def _server(self, server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    def broker(self, cluster: str) -> Broker:
        port = urlsplit(self.server.url).port
        return SqsBroker(f"sqs://eu-central-1?endpoint=http://127.0.0.1:{port}", cluster)

    async def stop(self) -> None:
        self.server.stop()

    async def start(self) -> None:
        self.server.start()


async def test_an_error_of_the_server_is_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As AWS asks of its clients."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    answers = [500, 200]

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({}, status=answers.pop(0))

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        [(_, port)] = [address[:2] for address in runner.addresses]
        broker = SqsBroker(f"sqs://eu-central-1?endpoint=http://127.0.0.1:{port}", "cluster")
        await broker.publish([])
        await broker.close()
    finally:
        await runner.cleanup()
    assert answers == []
