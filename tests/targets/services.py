"""Services to send requests to: one that remembers what it was sent, and one that misbehaves byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sexton import clock

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Service:
    """A service that remembers what it was sent."""

    url: str = ""
    requests: list[tuple[web.Request, bytes]] = field(default_factory=list)
    answer: Callable[[], web.Response] = field(default=lambda: web.Response(text="thanks"))
    before: Callable[[], Awaitable[object]] | None = None

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append((request, await request.read()))
        if self.before is not None:
            await self.before()
        return self.answer()


@asynccontextmanager
async def serving(host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Service]:
    service = Service()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", service.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, host, 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    service.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    yield service
    await runner.cleanup()


@asynccontextmanager
async def misbehaving(script: Script) -> AsyncIterator[str]:
    """A server on a socket: once a request's headers are there, the script says what becomes of it."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await reader.readuntil(b"\r\n\r\n")
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    # A connection that outlives the test's event loop is found by the next test, as a warning.
    for writer in writers:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@dataclass(frozen=True)
class Authority:
    """A certificate authority of a test's own, with a certificate for a server and one for a client."""

    ca: Path
    server: Path
    client: Path

    def context(self, *, client_needed: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self.ca))
        context.load_cert_chain(self.server)
        context.verify_mode = ssl.CERT_REQUIRED if client_needed else ssl.CERT_NONE
        return context


def make_authority(directory: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("authority")
    names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("named.test")]
    now = clock.now()

    def certificate(of: str, issuer_key: ec.EllipticCurvePrivateKey, *, authority: bool = False) -> bytes:
        own = key if authority else ec.generate_private_key(ec.SECP256R1())
        made = (
            x509.CertificateBuilder()
            .subject_name(_name(of))
            .issuer_name(name)
            .public_key(own.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False)
            .add_extension(_usage(authority), critical=True)
            .sign(issuer_key, hashes.SHA256())
        )
        pem = made.public_bytes(serialization.Encoding.PEM)
        secret = own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return pem if authority else pem + secret

    files = Authority(directory / "ca.pem", directory / "server.pem", directory / "client.pem")
    files.ca.write_bytes(certificate("authority", key, authority=True))
    files.server.write_bytes(certificate("server", key))
    files.client.write_bytes(certificate("client", key))
    return files


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
