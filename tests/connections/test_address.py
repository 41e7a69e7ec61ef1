"""Addresses of brokers and electors: what they say, what is refused, and that no password is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexton.config import load
from sexton.connections.address import Address
from sexton.connections.kafka import kafka_options
from sexton.connections.scheme import SCHEMES
from sexton.connections.tls import context_of
from sexton.errors import InvalidField
from tests.targets.services import make_authority


def read(url: str) -> Address:
    return Address.read(url, field="queue_url")


def test_an_address_is_taken_apart() -> None:
    address = read(
        "kafka+ssl://us%20er:p%40s%3As%2Fw%25rd@a:1,b,[::1]:3?sasl=SCRAM-SHA-256&ca=/etc/a%20b.pem"
    )
    assert address.hosts == (("a", 1), ("b", 9092), ("::1", 3))
    assert address.servers == ["a:1", "b:9092", "[::1]:3"]
    assert (address.user, address.password) == ("us er", "p@s:s/w%rd")
    assert address.options == {"sasl": "SCRAM-SHA-256", "ca": "/etc/a b.pem"}
    assert address.tls


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_with_tls_takes_files_and_no_other_does(scheme: str) -> None:
    url = f"{scheme}://host?ca=/ca.pem&cert=/me.pem&key=/me.key"
    if SCHEMES[scheme].secure == scheme:
        assert read(url).options == {"ca": "/ca.pem", "cert": "/me.pem", "key": "/me.key"}
    else:
        with pytest.raises(InvalidField, match=r"ca is for connections with TLS|no parameter 'ca'"):
            read(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://host?cluster=1", "redis:// has no parameter 'cluster'"),
        ("kafka://host?tls=1", "kafka:// has no parameter 'tls' (it has sasl)"),
        ("rediss://host?ca=", "the parameter ca needs one value"),
        ("rediss://host?ca=a&ca=b", "the parameter ca needs one value"),
        ("rediss://host?key=k.pem", "has a key, but no cert"),
        ("rediss://host?ssl_cert_reqs=none", "no parameter 'ssl_cert_reqs'"),
        ("redis://one,two", "takes one host"),
        ("redis://host:port", "cannot be read"),
        ("redis://host?ca", "cannot be read"),
        ("ftp://host", "there is no kind of address 'ftp'"),
    ],
)
def test_what_cannot_work_is_said(url: str, said: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read(url)
    assert said in str(refused.value)
    assert refused.value.field == "queue_url"


@pytest.mark.parametrize("mark", "/?#")
@pytest.mark.parametrize("setting", ["queue_url", "elector"])
def test_a_password_that_is_not_encoded_is_not_repeated(setting: str, mark: str) -> None:
    with pytest.raises(InvalidField) as refused:
        load({setting: f"redis://user:hunter{mark}22secret@host:6379/0"}, environment={})
    assert "22secret" not in str(refused.value)
    assert "hunter" not in str(refused.value)
    assert "%40" in str(refused.value)


@pytest.mark.parametrize("mark", "@:")
def test_where_it_can_only_mean_one_thing_it_is_understood(mark: str) -> None:
    assert read(f"redis://user:hunter{mark}22@host:6379/0").password == f"hunter{mark}22"


@pytest.mark.parametrize("setting", ["queue_url", "elector"])
@pytest.mark.parametrize("url", ["redis:user:hunter22@host", "redis:/user:hunter22@host", "rediss:hunter22"])
def test_nor_is_one_in_something_that_is_no_address(setting: str, url: str) -> None:
    with pytest.raises(InvalidField) as refused:
        load({setting: url}, environment={})
    assert "hunter22" not in str(refused.value)


def test_passwords_are_masked_in_whatever_a_client_says() -> None:
    address = read("amqps://user:p%40ssword@host")
    said = address.mask("cannot log in to amqps://user:p%40ssword@host with p@ssword")
    assert said == "cannot log in to amqps://user:•••@host with •••"
    assert read("tls://s3cr3t-token@host").mask("token s3cr3t-token") == "token •••"
    assert "p@ssword" not in repr(address)


def test_what_celery_writes_is_understood() -> None:
    """So that the address of an application can be copied."""
    address = read("rediss://:pw@host/0?ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs=/etc/ca.pem")
    assert address.options == {"ca": "/etc/ca.pem"}


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("kafka://host", "PLAINTEXT"),
        ("kafka+ssl://host", "SSL"),
        ("kafka://user:pw@host", "SASL_PLAINTEXT"),
        ("kafka+ssl://user:pw@host", "SASL_SSL"),
    ],
)
def test_the_protocol_of_kafka(url: str, protocol: str) -> None:
    options = kafka_options(read(url), field="queue_url")
    assert options["security_protocol"] == protocol
    assert ("ssl_context" in options) == protocol.endswith("SSL")
    if "SASL" in protocol:
        assert options["sasl_mechanism"] == "PLAIN"
        assert (options["sasl_plain_username"], options["sasl_plain_password"]) == ("user", "pw")


@pytest.mark.parametrize("url", ["kafka://user:pw@host?sasl=GSSAPI", "kafka://host?sasl=PLAIN"])
def test_a_login_that_kafka_would_not_have_is_refused(url: str) -> None:
    with pytest.raises(InvalidField, match="sasl is"):
        kafka_options(read(url), field="queue_url")


def test_files_that_are_missing_or_no_certificates_are_named(tmp_path: Path) -> None:
    missing, text = tmp_path / "missing.pem", tmp_path / "text.pem"
    text.write_text("not a certificate")
    with pytest.raises(
        InvalidField, match=f"the file that ca names, {missing}, cannot be read: No such file"
    ):
        context_of(read(f"rediss://host?ca={missing}"), "queue_url")
    with pytest.raises(InvalidField, match="ca cannot be used for TLS"):
        context_of(read(f"rediss://host?ca={text}"), "queue_url")


def test_files_may_stand_in_the_address_themselves(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    options = {"ca": authority.ca.read_text(), "cert": authority.client.read_text()}
    context = context_of(Address("rediss", (("host", 1),), options=options), "queue_url")
    assert context is not None
    [known] = context.get_ca_certs()
    assert known["subject"] == ((("commonName", "authority"),),)
