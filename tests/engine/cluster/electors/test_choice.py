"""The setting names the elector."""

from __future__ import annotations

import pytest

from sexton.config import Settings, load
from sexton.connections import scheme
from sexton.connections.scheme import is_installed
from sexton.engine.cluster.electors.choice import choose_elector
from sexton.errors import InvalidField
from sexton.postgres.database import Database


@pytest.mark.parametrize(
    ("elector", "name"),
    [
        ("postgres", "postgres"),
        ("advisory", "advisory"),
        ("redis://localhost:6379/0", "redis"),
        ("rediss://localhost:6379/0", "redis"),
        ("etcd://localhost:2379", "etcd"),
        ("etcd://user:pass%40word@one:2379,two", "etcd"),
        ("etcd+ssl://user:pass%40word@one:2379,two", "etcd"),
        ("zookeeper://one:2181,two:2181", "zookeeper"),
    ],
)
async def test_every_elector_goes_by_its_name(database: Database, elector: str, name: str) -> None:
    assert choose_elector(load({"elector": elector}, environment={}), database).name == name


@pytest.mark.parametrize(
    "elector", ["consul", "consul://host", "redis", "redis://", "zookeeper://", "", "etcd"]
)
def test_an_unknown_one_is_refused_by_name(elector: str) -> None:
    with pytest.raises(InvalidField) as refused:
        load({"elector": elector}, environment={})
    assert refused.value.field == "elector"
    assert repr(elector.partition("://")[0])[1:-1] in refused.value.message
    assert "postgres, advisory, redis://host:6379/0" in str(refused.value)


@pytest.mark.parametrize("elector", ["etcd://:2379", "etcd://host:port", "etcd://one,,two"])
async def test_an_address_that_is_none_is_refused(database: Database, elector: str) -> None:
    with pytest.raises(InvalidField, match="the address etcd://… cannot be read"):
        choose_elector(Settings(elector=elector), database)


@pytest.mark.parametrize(
    ("elector", "said"),
    [
        ("zookeeper://user:hunter22@host", "takes no user yet"),
        ("zookeeper://host?ca=/ca.pem", "zookeeper:// has no parameter 'ca'"),
    ],
)
async def test_what_an_elector_does_not_know_is_refused(database: Database, elector: str, said: str) -> None:
    with pytest.raises(InvalidField, match=said) as refused:
        choose_elector(load({"elector": elector}, environment={}), database)
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize(
    ("elector", "extra"),
    [("redis://host", "redis"), ("etcd://host", "etcd"), ("zookeeper://host", "zookeeper")],
)
async def test_a_client_that_is_not_installed_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch, elector: str, extra: str
) -> None:
    assert is_installed("redis")
    monkeypatch.setattr(scheme, "find_spec", lambda name: None)
    with pytest.raises(InvalidField) as refused:
        choose_elector(Settings(elector=elector), database)
    assert refused.value.hint == f"pip install 'sexton[{extra}]'"
