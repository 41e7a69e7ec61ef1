"""The one way out, on real sockets: what is refused, what is followed, what is read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from sexton.config import Settings
from sexton.connections.guard import RefusedAddress, check_address
from sexton.targets.http.kind import HttpTls
from sexton.targets.http.outbound import (
    LARGEST_REQUEST,
    BadRedirect,
    BadTls,
    Outbound,
    Request,
    TooLarge,
    origin,
)
from tests.targets.services import Service, make_authority, misbehaving, serving

NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.1.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::a9fe:a9fe",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "::ffff:169.254.0.1",
    "::ffff:0.0.0.0",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::0.0.0.1",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:0:169.254.169.254",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fd00:a9fe:a9fe::1",
]
PRIVATE = [
    "127.0.0.1",
    "::1",
    "10.0.0.1",
    "172.16.5.4",
    "192.168.1.1",
    "100.64.0.1",
    "fd12::1",
    "::ffff:127.0.0.1",
    "64:ff9b::10.0.0.1",
    "192.0.2.1",
    "2001:db8::1",
]
PUBLIC = ["1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


class Names(AbstractResolver):
    """Gives every name the next of some lists of addresses; the last one stays."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for each in addresses
        ]

    async def close(self) -> None:
        pass


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    async with serving() as service:
        yield service


@pytest_asyncio.fixture
async def outbound() -> AsyncIterator[Outbound]:
    outbound = Outbound(Settings())
    yield outbound
    await outbound.close()


async def named(service: Service, resolver: Names, **settings: Any) -> Outbound:
    outbound = Outbound(Settings(**settings), resolver=resolver)
    service.url = service.url.replace("127.0.0.1", "service.test")
    return outbound


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_never_reached(address: str) -> None:
    with pytest.raises(RefusedAddress, match="never"):
        check_address(address, private=True)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_ones_are_the_policys_choice(address: str) -> None:
    check_address(address, private=True)
    with pytest.raises(RefusedAddress, match="egress_private"):
        check_address(address, private=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_ones_are_reached(address: str) -> None:
    check_address(address, private=False)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "10.1.2.3"}, False),
        ({"public_url": "https://sexton.example.com"}, False),
        ({"public_url": "http://localhost:7390"}, True),
        ({"host": "0.0.0.0", "egress_private": "allow"}, True),
        ({"egress_private": "refuse"}, False),
    ],
)
def test_a_server_that_others_reach_does_not_reach_into_its_own_network(
    settings: dict[str, Any], allowed: bool
) -> None:
    assert Settings(**settings).private_egress() is allowed


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"])
async def test_private_addresses_are_refused_in_every_spelling(host: str) -> None:
    outbound = Outbound(Settings(egress_private="refuse"))
    with pytest.raises(RefusedAddress):
        await outbound.send(Request("GET", f"http://{host}:1/"))
    await outbound.close()


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0.0.0.0"])
async def test_metadata_addresses_are_refused_in_every_spelling(outbound: Outbound, host: str) -> None:
    with pytest.raises(RefusedAddress):
        await outbound.send(Request("GET", f"http://{host}/latest"))


@pytest.mark.parametrize("host", ["0", "2852039166", "0xa9fea9fe", "169.16689662", "0251.0376.0251.0376"])
async def test_numbers_that_stand_for_addresses_are_no_way_around(outbound: Outbound, host: str) -> None:
    with pytest.raises((RefusedAddress, aiohttp.InvalidURL)):
        await outbound.send(Request("GET", f"http://{host}/latest"))


async def test_one_bad_address_spoils_a_name(service: Service) -> None:
    resolver = Names(["127.0.0.1", "169.254.169.254"])
    outbound = await named(service, resolver)
    with pytest.raises(RefusedAddress, match=r"169\.254"):
        await outbound.send(Request("GET", service.url))
    assert (resolver.asked, service.requests) == (1, [])
    await outbound.close()


async def test_a_name_that_is_bound_again_gains_nothing(service: Service) -> None:
    """The first answer is fine, and so is the request; then the name points to the metadata service."""
    resolver = Names(["127.0.0.1"], ["169.254.169.254"])
    outbound = await named(service, resolver)
    reply = await outbound.send(Request("GET", service.url, headers={"Connection": "close"}))
    assert reply.status == 200
    session = outbound._open_session()
    assert isinstance(session.connector, aiohttp.TCPConnector)
    session.connector.clear_dns_cache()
    with pytest.raises(RefusedAddress):
        await outbound.send(Request("GET", service.url))
    assert len(service.requests) == 1
    await outbound.close()


async def test_the_socket_is_guarded_even_if_the_resolver_is_not(outbound: Outbound) -> None:
    with pytest.raises(RefusedAddress):
        outbound.guard.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("169.254.169.254", 80)))
    with pytest.raises(RefusedAddress):
        outbound.guard.socket(
            (socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("::ffff:169.254.169.254", 80, 0, 0))
        )


async def test_ipv6_is_reached(outbound: Outbound) -> None:
    try:
        async with serving("::1") as service:
            reply = await outbound.send(Request("POST", service.url, body=b"hello"))
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert (reply.status, service.requests[0][1]) == (200, b"hello")


async def test_redirects_are_not_followed_unless_asked(outbound: Outbound, service: Service) -> None:
    service.answer = lambda: web.Response(status=302, headers={"Location": "/elsewhere"})
    reply = await outbound.send(Request("GET", service.url))
    assert (reply.status, len(service.requests)) == (302, 1)


@pytest.mark.parametrize(
    ("status", "method", "body"), [(302, "GET", b""), (303, "GET", b""), (307, "POST", b"x")]
)
async def test_redirects_that_are_asked_for(
    outbound: Outbound, service: Service, status: int, method: str, body: bytes
) -> None:
    answers = [web.Response(status=status, headers={"Location": "/elsewhere"}), web.Response(text="here")]
    service.answer = lambda: answers.pop(0)
    headers = {"Content-Type": "text/plain", "X-Own": "1"}
    request = Request("POST", service.url, body=b"x", headers=headers, redirects=1)
    assert (await outbound.send(request)).body == b"here"
    [_, (followed, sent)] = service.requests
    assert (followed.method, followed.path, sent) == (method, "/elsewhere", body)
    assert followed.headers["X-Own"] == "1"


async def test_a_redirect_to_another_host_does_not_take_secrets_along(
    outbound: Outbound, service: Service
) -> None:
    async with serving() as other:
        service.answer = lambda: web.Response(status=307, headers={"Location": other.url})
        headers = {"Authorization": "secret", "Sexton-Run-Id": "r_1"}
        private = frozenset({"authorization"})
        await outbound.send(Request("POST", service.url, headers=headers, redirects=2, private=private))
        [(request, _)] = other.requests
    assert "Authorization" in service.requests[0][0].headers
    assert "Authorization" not in request.headers
    assert request.headers["Sexton-Run-Id"] == "r_1"


@pytest.mark.parametrize(
    "where", ["http://169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/", "http://0.0.0.0:1/"]
)
async def test_a_redirect_to_a_metadata_address_is_refused(
    outbound: Outbound, service: Service, where: str
) -> None:
    service.answer = lambda: web.Response(status=307, headers={"Location": where})
    with pytest.raises(RefusedAddress):
        await outbound.send(Request("GET", service.url, redirects=5))


@pytest.mark.parametrize("where", ["ftp://127.0.0.1/", "http://", "//[", "http://127.0.0.1:x/"])
async def test_a_redirect_to_nowhere(outbound: Outbound, service: Service, where: str) -> None:
    service.answer = lambda: web.Response(status=302, headers={"Location": where})
    with pytest.raises(BadRedirect):
        await outbound.send(Request("GET", service.url, redirects=5))


async def test_redirects_in_a_circle_end(outbound: Outbound, service: Service) -> None:
    service.answer = lambda: web.Response(status=302, headers={"Location": "/again"})
    with pytest.raises(BadRedirect, match="more than 3"):
        await outbound.send(Request("GET", service.url, redirects=3))
    assert len(service.requests) == 4


async def test_what_is_sent_and_read_is_capped(outbound: Outbound, service: Service) -> None:
    with pytest.raises(TooLarge):
        await outbound.send(Request("POST", service.url, body=b"x" * (LARGEST_REQUEST + 1)))
    assert service.requests == []
    service.answer = lambda: web.Response(body=b"y" * 100_000)
    reply = await outbound.send(Request("GET", service.url, most_bytes=1000))
    assert (reply.body, reply.truncated) == (b"y" * 1000, True)
    reply = await outbound.send(Request("GET", service.url, most_bytes=100_000))
    assert (len(reply.body), reply.truncated) == (100_000, False)


async def test_a_compressed_answer_is_capped_once_it_is_unpacked(
    outbound: Outbound, service: Service
) -> None:
    def bomb() -> web.Response:
        response = web.Response(body=b"\0" * 50_000_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    service.answer = bomb
    reply = await outbound.send(Request("GET", service.url, most_bytes=1000))
    assert (len(reply.body), reply.truncated) == (1000, True)


async def test_certificates_are_checked(outbound: Outbound, tmp_path: Path) -> None:
    files = make_authority(tmp_path)
    async with serving(tls=files.context()) as service:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await outbound.send(Request("GET", service.url))
        trusting = Request("GET", service.url, tls=HttpTls(ca=str(files.ca)))
        assert (await outbound.send(trusting)).status == 200


async def test_a_client_certificate_is_shown(outbound: Outbound, tmp_path: Path) -> None:
    files = make_authority(tmp_path)
    async with serving(tls=files.context(client_needed=True)) as service:
        with pytest.raises((aiohttp.ClientError, OSError)):
            await outbound.send(Request("GET", service.url, tls=HttpTls(ca=str(files.ca))))
        shown = HttpTls(ca=str(files.ca), cert=str(files.client))
        reply = await outbound.send(Request("GET", service.url, tls=shown))
        transport = service.requests[-1][0].transport
    assert reply.status == 200
    assert transport is not None


async def test_a_redirect_from_https_to_http_is_not_followed(outbound: Outbound, tmp_path: Path) -> None:
    files = make_authority(tmp_path)
    async with serving(tls=files.context()) as service:
        service.answer = lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1/"})
        with pytest.raises(BadRedirect, match="https"):
            await outbound.send(Request("GET", service.url, redirects=1, tls=HttpTls(ca=str(files.ca))))


async def test_files_that_are_not_there_are_named(outbound: Outbound, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with pytest.raises(BadTls, match=r"missing\.pem"):
        await outbound.send(Request("GET", "https://127.0.0.1:1/", tls=HttpTls(ca=str(missing))))
    missing.write_text("nonsense")
    with pytest.raises(BadTls, match=r"target\.http\.tls"):
        await outbound.send(Request("GET", "https://127.0.0.1:1/", tls=HttpTls(cert=str(missing))))


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say nothing until the caller goes away."""
    await reader.read()


async def test_connecting_and_reading_end_in_time(outbound: Outbound) -> None:
    async with misbehaving(silence) as url:
        with pytest.raises(TimeoutError):
            await outbound.send(Request("GET", url, read_seconds=0.05))


async def test_a_short_time_out_of_the_caller_does_not_count_against_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbound = Outbound(Settings(http_breaker_failures=1))
    async with misbehaving(silence) as address:
        url = address.rstrip("/")
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await outbound.send(Request("GET", url, read_seconds=0.05))
        assert outbound.hosts.opened() == []
        monkeypatch.setattr("sexton.targets.http.outbound.PATIENT_SECONDS", 0.05)
        with pytest.raises(TimeoutError):
            await outbound.send(Request("GET", url, read_seconds=0.05))
        assert outbound.hosts.opened() == [url]
    await outbound.close()


async def test_certificates_of_the_caller_do_not_count_against_the_host(tmp_path: Path) -> None:
    outbound = Outbound(Settings(http_breaker_failures=1))
    for name in ("right", "wrong"):
        (tmp_path / name).mkdir()
    files = make_authority(tmp_path / "right")
    wrong = HttpTls(ca=str(make_authority(tmp_path / "wrong").ca))
    async with serving(tls=files.context()) as service:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await outbound.send(Request("GET", service.url, tls=wrong))
        assert outbound.hosts.opened() == []
        reply = await outbound.send(Request("GET", service.url, tls=HttpTls(ca=str(files.ca))))
        assert reply.status == 200
    await outbound.close()


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("http://Example.test/a?b", "http://example.test:80"),
        ("https://example.test", "https://example.test:443"),
        ("http://[::1]:8080/", "http://::1:8080"),
        ("http://x:y/", "http://x:80"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, known: str) -> None:
    assert origin(url) == known
