"""E-mail over SMTP: against a real server with TLS, and against servers that break off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.notifications.channels.base import Accepted, Failed, Rejected, Unclear
from sexton.notifications.channels.smtp import SmtpConfig, SmtpProvider, installation_configs
from tests.notifications.channels.lending import lending, outgoing
from tests.notifications.channels.mail_server import (
    PASSWORD,
    USER,
    content,
    envelope,
    greet,
    mail_server,
    scripted,
)
from tests.targets.services import Authority, make_authority

SENDER = "The Shop <hello@shop.example.com>"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def providing(url: str, **more: Any) -> AsyncIterator[SmtpProvider]:
    config = SmtpConfig(url=url, sender=more.pop("sender", SENDER), **more.pop("config", {}))
    async with lending(secrets={"mail": PASSWORD}, **more) as services:
        provider = SmtpProvider(config, services)
        yield provider
        await provider.close()


async def test_a_message_goes_out_over_starttls_with_a_password(authority: Authority) -> None:
    async with mail_server(starttls=authority.context(), auth=True) as server:
        url = f"smtp://{USER}:${{secret:mail}}@127.0.0.1:{server.port}?starttls=required&ca={authority.ca}"
        async with providing(url, target_files=authority.ca.parent) as provider:
            message = outgoing(
                parts={
                    "subject": "Grüße",
                    "text": "Hallo Jürgen\n.\nBis bald",
                    "html": "<p>Hallo Jürgen</p>",
                },
                address="juergen@example.com",
                headers={"List-Unsubscribe": "<https://shop.example.com/u>"},
            )
            assert await provider.send([message]) == [Accepted()]
        [mail], [session] = server.mails, server.sessions[-1:]
    assert session.ssl is not None
    assert session.authenticated
    assert mail["From"] == SENDER
    assert mail["To"] == "juergen@example.com"
    assert mail["Subject"] == "Grüße"
    assert mail["Message-ID"] == "<n_1@shop.example.com>"
    assert mail["List-Unsubscribe"] == "<https://shop.example.com/u>"
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    assert text.get_content().splitlines() == ["Hallo Jürgen", ".", "Bis bald"]
    assert html.get_content().strip() == "<p>Hallo Jürgen</p>"


async def test_a_message_goes_out_over_tls_from_the_first_byte(authority: Authority) -> None:
    async with mail_server(tls=authority.context()) as server:
        url = f"smtps://127.0.0.1:{server.port}?ca={authority.ca}"
        async with providing(url, target_files=authority.ca.parent) as provider:
            assert await provider.check() == "the mail server answers, with pipelining"
            assert await provider.send([outgoing()]) == [Accepted()]
        assert [mail["Subject"] for mail in server.mails] == ["Hello 1"]


async def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority) -> None:
    async with (
        mail_server(tls=authority.context()) as server,
        providing(f"smtps://127.0.0.1:{server.port}") as provider,
    ):
        [result] = await provider.send([outgoing()])
        assert isinstance(result, Failed)
        assert "certificate" in result.reason.lower()
        assert server.mails == []


@pytest.mark.parametrize("pipelining", [True, False])
async def test_many_messages_share_a_few_connections(pipelining: bool) -> None:
    async with (
        mail_server() as server,
        providing(f"smtp://127.0.0.1:{server.port}", concurrency=3) as provider,
    ):
        server.pipelining = pipelining
        batch = [outgoing(number, f"user{number}@example.com") for number in range(100)]
        assert set(await provider.send(batch)) == {Accepted()}
        assert await provider.send([outgoing(100)]) == [Accepted()]
        assert len(server.sessions) <= 3
    assert {mail["To"] for mail in server.mails} == {each.address for each in [*batch, outgoing()]}
    assert len(server.mails) == 101


@pytest.mark.parametrize("pipelining", [True, False])
async def test_each_recipient_has_a_result_of_its_own(pipelining: bool) -> None:
    refuse = {
        "gone@example.com": "550 5.1.1 no such user",
        "full@example.com": "452 4.2.2 mailbox full",
        "policy@example.com": "550 5.7.1 we do not want this",
        "plain@example.com": "550 no",
    }
    async with mail_server() as server, providing(f"smtp://127.0.0.1:{server.port}") as provider:
        server.pipelining, server.refuse = pipelining, refuse
        server.judge = lambda mail: "554 5.6.0 spam" if mail["Subject"] == "spam" else "250 Ok"
        spam = outgoing(9, "spam@example.com", parts={"subject": "spam", "text": "spam"})
        batch = [outgoing(1, "a@example.com"), *(outgoing(2, each) for each in refuse), spam, outgoing(3)]
        results = await provider.send(batch)
        # A second time over the same connections: they are in order after refusals.
        again = await provider.send(batch)
    assert results == again
    assert results == [
        Accepted(),
        Rejected("RCPT: 550 5.1.1 no such user", "5.1.1", gone=True),
        Failed("RCPT: 452 4.2.2 mailbox full", code="4.2.2", ours=True),
        Rejected("RCPT: 550 5.7.1 we do not want this", "5.7.1"),
        Rejected("RCPT: 550 no", "550"),
        Rejected("the message: 554 5.6.0 spam", "5.6.0"),
        Accepted(),
    ]


async def test_a_wrong_password_fails_without_showing_it(authority: Authority) -> None:
    async with mail_server(starttls=authority.context(), auth=True) as server:
        url = f"smtp://someone:${{secret:mail}}@127.0.0.1:{server.port}?ca={authority.ca}"
        async with providing(url, target_files=authority.ca.parent) as provider:
            [result] = await provider.send([outgoing()])
    assert isinstance(result, Failed)
    assert "535" in result.reason
    assert PASSWORD not in repr(result)


async def test_a_password_is_not_sent_in_clear_to_another_machine() -> None:
    async def no_starttls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        assert await reader.readline() == b""

    async with scripted(no_starttls) as port:
        url = f"smtp://{USER}:${{secret:mail}}@127.0.0.1:{port}?starttls=required"
        async with providing(url) as provider:
            [result] = await provider.send([outgoing()])
    assert isinstance(result, Failed)
    assert "STARTTLS" in result.reason


@pytest.mark.parametrize("pipelining", [True, False])
async def test_a_connection_that_breaks_in_the_content_leaves_one_message_unclear(pipelining: bool) -> None:
    """The third message of the first connection: those before and after it are certain."""
    connections, received = [], []

    async def breaking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await greet(reader, writer, pipelining=pipelining)
        number = 0
        while True:
            recipient = await envelope(reader, writer)
            await content(reader)
            number += 1
            if len(connections) == 1 and number == 3:
                writer.transport.abort()
                return
            received.append(recipient)
            writer.write(b"250 Ok\r\n")

    async with scripted(breaking) as port, providing(f"smtp://127.0.0.1:{port}", concurrency=1) as provider:
        results = await provider.send([outgoing(number, f"user{number}@example.com") for number in range(6)])
    assert [type(each) for each in results] == [Accepted, Accepted, Unclear, Accepted, Accepted, Accepted]
    assert received == [f"user{number}@example.com" for number in (0, 1, 3, 4, 5)]


async def test_a_connection_that_breaks_before_the_content_costs_nothing() -> None:
    """421 in the middle of a session: the message goes over another connection."""
    connections = []

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await greet(reader, writer)
        if len(connections) == 1:
            await reader.readline()
            writer.write(b"421 4.3.2 I am being restarted\r\n")
            return
        while True:
            await envelope(reader, writer)
            await content(reader)
            writer.write(b"250 Ok\r\n")

    async with scripted(closing) as port, providing(f"smtp://127.0.0.1:{port}", concurrency=1) as provider:
        assert await provider.send([outgoing(1), outgoing(2)]) == [Accepted(), Accepted()]
    assert len(connections) == 2


async def test_a_server_that_always_breaks_off_is_given_up() -> None:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readline()

    async with scripted(closing) as port, providing(f"smtp://127.0.0.1:{port}") as provider:
        [result] = await provider.send([outgoing()])
    assert isinstance(result, Failed)
    assert "3 times" in result.reason


async def test_a_server_that_is_not_there_fails() -> None:
    async with scripted(greet) as port:
        pass
    async with providing(f"smtp://127.0.0.1:{port}") as provider:
        results = await provider.send([outgoing(number) for number in range(20)])
    assert {type(each) for each in results} == {Failed}


async def test_addresses_that_may_not_be_reached_are_not_dialled() -> None:
    async with (
        mail_server() as server,
        providing(f"smtp://127.0.0.1:{server.port}", egress_private="refuse") as provider,
    ):
        [result] = await provider.send([outgoing()])
        assert isinstance(result, Failed)
        assert "private address" in result.reason
        assert server.sessions == []
    async with providing("smtp://169.254.169.254:25") as provider:
        [result] = await provider.send([outgoing()])
        assert isinstance(result, Failed)
        assert "never reached" in result.reason


async def test_files_outside_the_allowed_directory_are_not_read(authority: Authority) -> None:
    async with (
        mail_server(tls=authority.context()) as server,
        providing(f"smtps://127.0.0.1:{server.port}?ca={authority.ca}") as provider,
    ):
        [result] = await provider.send([outgoing()])
        assert isinstance(result, Failed)
        assert result.code == "file_refused"


async def test_what_cannot_be_an_address_is_refused_for_good() -> None:
    wrong = ["nobody", "a@b@c", "a b@example.com", "a@example.com\r\nRCPT TO:<b@example.com>", 7, "a@x.test>"]
    async with mail_server() as server, providing(f"smtp://127.0.0.1:{server.port}") as provider:
        results = await provider.send([outgoing(1, each) for each in wrong])
        assert server.mails == []
    assert {(type(each), each.gone) for each in results if isinstance(each, Rejected)} == {(Rejected, True)}
    assert len(results) == len(wrong)


async def test_domains_in_other_scripts_are_written_as_dns_has_them() -> None:
    async with mail_server() as server, providing(f"smtp://127.0.0.1:{server.port}") as provider:
        batch = [outgoing(1, "ann@bücher.example"), outgoing(2, "ånn@example.com")]
        assert await provider.send(batch) == [Accepted(), Accepted()]
        assert {each.rcpt_tos[0] for each in server.envelopes} == {
            "ann@xn--bcher-kva.example",
            "ånn@example.com",
        }


async def test_the_envelope_sender_can_be_another() -> None:
    config = {"bounces_to": "bounces@shop.example.com", "reply_to": "Help <help@shop.example.com>"}
    async with (
        mail_server() as server,
        providing(f"smtp://127.0.0.1:{server.port}", config=config) as provider,
    ):
        assert await provider.send([outgoing()]) == [Accepted()]
        assert server.envelopes[0].mail_from == "bounces@shop.example.com"
        assert server.mails[0]["Reply-To"] == "Help <help@shop.example.com>"


@pytest.mark.parametrize(
    ("config", "code", "field"),
    [
        ({"url": "smtp://a:secretword@host"}, "secret_in_clear", "config.url"),
        ({"url": "http://host"}, "bad_address", "config.url"),
        (
            {"url": "smtp://host", "sender": "ann@example.com\r\nBcc: all@example.com"},
            "bad_address",
            "config.sender",
        ),
        ({"url": "smtp://host", "bounces_to": "x"}, "bad_address", "config.bounces_to"),
    ],
)
def test_bad_configurations_are_refused(config: dict[str, str], code: str, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        msgspec.convert({"sender": SENDER, **config}, SmtpConfig)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert "secretword" not in str(caught.value)


def test_the_setting_names_mail_servers_in_their_order(tmp_path: Path) -> None:
    settings = Settings(smtp_url="smtp://ann%40example.com:pw@a:587 smtps://b", mail_from=None).check()
    first, second = installation_configs(settings)
    assert first.sender == "ann@example.com"
    assert second.sender.startswith("sexton@")
    with pytest.raises(InvalidField) as caught:
        Settings(smtp_url="ftp://user:verysecret@a").check()
    assert "verysecret" not in str(caught.value)
