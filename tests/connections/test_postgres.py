"""Addresses of PostgreSQL that name one server or several."""

from __future__ import annotations

import pytest

from sexton.connections.postgres import PostgresHost, check_address, read_hosts
from sexton.errors import InvalidField


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://db/x", [PostgresHost("db")]),
        ("postgres://u:p,w%40@db:6432/x?sslmode=require", [PostgresHost("db", 6432)]),
        ("postgresql://u@db1:5432,db2/x", [PostgresHost("db1", 5432), PostgresHost("db2")]),
        ("postgresql://[::1]:5432,[fe80::1]/x", [PostgresHost("::1", 5432), PostgresHost("fe80::1")]),
        (
            "postgresql:///x?host=/run/a,/run/b&port=5432,5433",
            [PostgresHost("/run/a", 5432), PostgresHost("/run/b", 5433)],
        ),
        ("postgresql:///x?host=db1,db2&port=6432", [PostgresHost("db1", 6432), PostgresHost("db2", 6432)]),
        ("postgresql:///x?host=db1:6432,db2", [PostgresHost("db1", 6432), PostgresHost("db2")]),
        ("postgresql:///x", []),
    ],
)
def test_hosts_are_read_in_their_order(url: str, hosts: list[PostgresHost]) -> None:
    assert read_hosts(url) == hosts
    check_address("database_url", url, written=True)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db/x",
        "db1,db2",
        "postgresql://db:port/x",
        "postgresql://db1:5432,/x",
        "postgresql://db1:5432,db2:0/x",
        "postgresql://db1:5432,db2:65536/x",
        "postgresql://[::1/x",
        "postgresql:///x?host=a,b&port=1,2,3",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidField, match="database_url is not the address of a PostgreSQL") as refused:
        check_address("database_url", url, written=True)
    assert "host1:5432,host2:5432" in str(refused.value.hint)


@pytest.mark.parametrize("wanted", ["read-write", "primary", "any"])
def test_a_database_that_is_written_to_is_the_primary(wanted: str) -> None:
    check_address("database_url", f"postgresql://a,b/x?target_session_attrs={wanted}", written=True)


@pytest.mark.parametrize("wanted", ["standby", "read-only", "prefer-standby"])
def test_a_replica_cannot_be_written_to(wanted: str) -> None:
    url = f"postgresql://a,b/x?target_session_attrs={wanted}"
    check_address("replica_url", url, written=False)
    with pytest.raises(InvalidField, match=f"target_session_attrs={wanted}, but it is written to"):
        check_address("database_url", url, written=True)


@pytest.mark.parametrize("written", [True, False])
def test_an_unknown_wish_is_refused(written: bool) -> None:
    url = "postgresql://a,b/x?target_session_attrs=master"
    with pytest.raises(InvalidField, match="target_session_attrs=master, which does not exist") as refused:
        check_address("replica_url", url, written=written)
    assert "read-write, primary, any" in str(refused.value.hint)
