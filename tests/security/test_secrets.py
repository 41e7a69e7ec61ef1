"""Secrets: kept encrypted, found by name, never told."""

from __future__ import annotations

import re
import stat
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path

import pytest

from sexton.config import Settings
from sexton.errors import InvalidField, NotFound
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.security.binding import Binding, Use
from sexton.security.mask import MASK
from sexton.security.placeholder import SecretRef
from sexton.security.secrets import SecretError, Secrets
from tests.seeding import Store


def settings() -> Settings:
    return Settings(secret_key=secrets.new_key())


async def test_what_is_kept_is_encrypted_and_comes_back(database: Database) -> None:
    mine = settings()
    assert await secrets.keep(Context(database), mine, "db", "pä$$ word")
    assert not await secrets.keep(Context(database), mine, "db", "pä$$ word 2")
    sealed = await Store(database).value("select value from sexton.secrets")
    assert b"word" not in sealed
    found = Secrets(database, mine)
    assert await found.reveal(SecretRef("db")) == "pä$$ word 2"
    assert await found.reveal("a ${secret:db} b ${secret:db}") == "a pä$$ word 2 b pä$$ word 2"
    assert await found.reveal("plain") == "plain"
    assert [each["name"] for each in await secrets.names(Context(database))] == ["db"]
    await secrets.delete(Context(database), "db")
    with pytest.raises(NotFound):
        await secrets.delete(Context(database), "db")


async def test_values_cannot_be_swapped_and_need_their_key(database: Database) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "one", "first")
    await secrets.keep(Context(database), mine, "two", "second")
    with pytest.raises(SecretError, match="another key"):
        await Secrets(database, settings()).value("one")
    await Store(database).execute(
        """update sexton.secrets set value = (select value from sexton.secrets where name = 'two')
        where name = 'one'"""
    )
    with pytest.raises(SecretError, match="another key"):
        await Secrets(database, mine).value("one")
    with pytest.raises(SecretError, match="there is no secret three"):
        await Secrets(database, mine).value("three")


async def test_each_namespace_has_its_own_secrets(database: Database) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "db", "ours")
    await secrets.keep(Context(database, "billing"), mine, "db", "theirs")
    await secrets.keep(Context(database, "billing"), mine, "mail", "theirs too")
    read = Secrets(database, mine)
    assert await read.value("db") == "ours"
    assert await read.value("db", Use(namespace="billing")) == "theirs"
    with pytest.raises(SecretError):
        await read.value("mail")
    assert [each["name"] for each in await secrets.names(Context(database))] == ["db"]
    with pytest.raises(NotFound):
        await secrets.delete(Context(database), "mail")


async def test_a_secret_cannot_be_moved_to_another_namespace(database: Database) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "db", "ours")
    await Store(database).fetch("update sexton.secrets set namespace = 'billing'")
    with pytest.raises(SecretError, match="another key"):
        await Secrets(database, mine).value("db", Use(namespace="billing"))


async def test_an_address_is_masked_in_all_its_parts(database: Database) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "broker", "amqp://user:p%40ssword@host/x?token=abcdef")
    found = Secrets(database, mine)
    await found.value("broker")
    for said in (
        "cannot reach amqp://user:p%40ssword@host/x?token=abcdef",
        "refused: p@ssword",
        "refused: p%40ssword",
        "query token=abcdef",
    ):
        masked = found.mask(said)
        assert "ssword" not in masked
        assert "abcdef" not in masked
    assert found.mask_all({"a": ["p@ssword", 1], "b": None}) == {"a": ["•••", 1], "b": None}


TOKEN = 'a"b\\cüd/e f+g'


@pytest.mark.parametrize(
    "said",
    [
        'the answer was {"token": "a\\"b\\\\c\\u00fcd/e f+g"}',
        'the answer was {"token": "a\\"b\\\\cüd\\/e f+g"}',
        'the answer was {"token": "a\\"b\\\\c\\u00fcd\\/e f+g"}',
        "GET /?token=a%22b%5Cc%C3%BCd%2Fe%20f%2Bg",
        "GET /?token=a%22b%5Cc%C3%BCd/e%20f%2Bg",
        "GET /?token=a%22b%5Cc%C3%BCd%2Fe+f%2Bg",
        "GET /?token=a%22b%5cc%c3%bcd%2fe+f%2bg",
        'the answer was {"token": "a\\"b\\\\c\\u00FCd/e f+g"}',
        "<p>unknown: a&quot;b\\cüd/e f+g</p>",
        "unknown: 'a\"b\\\\cüd/e f+g'",
        "unknown: b'a\"b\\\\c\\xc3\\xbcd/e f+g'",
        *(f"Basic {b64encode(f'{user}:{TOKEN}'.encode()).decode()}" for user in ("", "x", "yz")),
        *(f"Basic {urlsafe_b64encode(f'{user}:{TOKEN}?'.encode()).decode()}" for user in ("", "x", "yz")),
        'cut in the middle: a"b\\cüd/',
        'cut in the middle: a"b\\cüd/…',
        "\\cüd/e f+g and what follows",
    ],
)
async def test_a_secret_is_masked_however_it_is_written(database: Database, said: str) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "token", TOKEN)
    found = Secrets(database, mine)
    await found.value("token")
    masked = found.mask(said)
    assert MASK in masked
    assert not any(part in masked for part in ("cüd", "u00fcd", "u00FCd", "C3%BC", "c3%bc", "xbc"))
    for encoded in re.findall(r"Basic (.+)", masked):
        assert len(encoded.replace(MASK, "")) < 10


def test_a_binding_says_where_a_secret_may_go() -> None:
    bound = Binding(("crm.example.com", "*.shop.test"))
    assert bound.allows(Use("http", ("CRM.example.com",)))
    assert bound.allows(Use("message", ("a.shop.test", "b.c.shop.test")))
    for use in (
        Use("http", ("evil.test",)),
        Use("http", ("shop.test",)),
        Use("http", ("crm.example.com.evil.test",)),
        Use("message", ("a.shop.test", "evil.test")),
        Use("shell"),
        Use(),
    ):
        assert not bound.allows(use)
    assert Binding((), ("shell",)).allows(Use("shell"))
    assert not Binding((), ("shell",)).allows(Use("http", ("a.test",)))
    assert Binding(("a.test",), ("http", "shell")).allows(Use("shell"))
    assert Binding().allows(Use())


async def test_a_bound_secret_goes_to_its_hosts_only(database: Database) -> None:
    mine = settings()
    bound = Binding(("crm.example.com",), ("http",))
    await secrets.keep(Context(database), mine, "token", "s3cret-value", bound)
    found = Secrets(database, mine)
    assert await found.value("token", Use("http", ("crm.example.com",))) == "s3cret-value"
    for use in (Use(), Use("http", ("evil.test",)), Use("message", ("crm.example.com",))):
        with pytest.raises(SecretError, match=r"is for hosts crm\.example\.com"):
            await found.value("token", use)
    address = "https://crm.example.com/${secret:token}"
    assert await found.address(address, "http") == "https://crm.example.com/s3cret-value"
    for evil in (
        "https://${secret:token}.evil.test/",
        "https://crm.example.com@evil.test/${secret:token}",
        "https://evil.test/?${secret:token}@crm.example.com",
        "https://evil.test#${secret:token}@crm.example.com",
    ):
        with pytest.raises(SecretError):
            await found.address(evil, "http")


async def test_a_binding_cannot_be_changed_without_the_key(database: Database) -> None:
    mine = settings()
    await secrets.keep(Context(database), mine, "token", "s3cret-value", Binding(("crm.example.com",)))
    await Store(database).execute("update sexton.secrets set hosts = '{}'")
    with pytest.raises(SecretError, match="another key"):
        await Secrets(database, mine).value("token")


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "a" * 101, "ä"])
async def test_names_that_cannot_be_are_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidField):
        await secrets.keep(Context(database), settings(), name, "x")


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 70_000])
async def test_values_that_cannot_be_are_refused(database: Database, value: str) -> None:
    with pytest.raises(InvalidField):
        await secrets.keep(Context(database), settings(), "name", value)


def test_a_key_is_read_from_a_file_of_its_own(tmp_path: Path) -> None:
    path = secrets.key_file(tmp_path / "data")
    assert path == tmp_path / "data.key"
    secrets.make_key_file(path)
    first = secrets.read_key(f"@{path}")
    secrets.make_key_file(path)
    assert secrets.read_key(f"@{path}") == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "there is no key"),
        ("@/no/such/file", "cannot be read"),
        ("short", "not 32 bytes"),
        ("####", "not 32 bytes"),
    ],
)
def test_a_key_that_is_none_says_what_to_do(source: str | None, said: str) -> None:
    with pytest.raises(SecretError, match=said) as raised:
        secrets.read_key(source)
    assert "sexton secret" in (raised.value.hint or "")
