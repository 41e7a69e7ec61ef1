"""What a project's settings make of Sexton's."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured  # type: ignore[import-untyped]
from django.test import override_settings  # type: ignore[import-untyped]

from sexton.connections.postgres import check_address
from sexton.contrib.django import conf

POSTGRES = {
    "HOST": "db.example",
    "PORT": "5433",
    "USER": "shop",
    "PASSWORD": "p@ss/word",
    "NAME": "shop",
    "OPTIONS": {},
}
ADDRESS = "postgresql://shop:p%40ss%2Fword@db.example:5433/shop"


class Known:
    """A connection to a database that is not reached here."""

    display_name = "Some"

    def __init__(self, vendor: str, found: dict[str, Any]) -> None:
        self.vendor = vendor
        self.settings_dict = found


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SEXTON_DATABASE_URL", "SEXTON_DATA", "SEXTON_ADAPTERS", "SEXTON_APP", "SEXTON_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"default": Known("postgresql", POSTGRES), "files": Known("sqlite", {})}
    monkeypatch.setattr(conf, "connections", known)


def test_with_sqlite_sexton_has_a_private_postgresql() -> None:
    assert conf.project_settings() == {}


@pytest.mark.usefixtures("postgres")
def test_a_postgresql_of_the_project_is_used() -> None:
    assert conf.project_settings() == {"database_url": ADDRESS}


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"database": None}, {}),
        ({"data": "/srv/sexton"}, {"data": "/srv/sexton"}),
        ({"database_url": "postgresql://other/sexton"}, {"database_url": "postgresql://other/sexton"}),
        ({"database": "default", "port": 7400}, {"database_url": ADDRESS, "port": 7400}),
        ({"name": "shop", "port": None}, {"database_url": ADDRESS}),
    ],
)
def test_what_is_given(given: dict[str, Any], made: dict[str, Any]) -> None:
    with override_settings(SEXTON=given):
        assert conf.project_settings() == made


@pytest.mark.usefixtures("postgres")
def test_variables_go_over_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXTON_DATABASE_URL", "postgresql://other/sexton")
    monkeypatch.setenv("SEXTON_PORT", "7500")
    with override_settings(SEXTON={"port": 7400, "database": "default"}):
        assert conf.project_settings() == {}


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"databse": "default"}, "did you mean database"),
        ({"database": "files"}, "Sexton needs PostgreSQL"),
        ({"app": "shop:app"}, "remove it"),
        ("shop", "write a dictionary"),
    ],
)
def test_what_cannot_work_is_refused(given: Any, said: str) -> None:
    with override_settings(SEXTON=given), pytest.raises(ImproperlyConfigured, match=said):
        conf.project_settings()


@pytest.mark.parametrize(
    ("found", "address"),
    [
        ({"NAME": "shop"}, "postgresql:///shop"),
        (
            {"NAME": "shop", "HOST": "/run/postgresql", "PORT": 5433, "USER": "a b"},
            "postgresql://a%20b@/shop?host=%2Frun%2Fpostgresql&port=5433",
        ),
        ({"NAME": "shop", "HOST": "::1", "PORT": "5432"}, "postgresql://[::1]:5432/shop"),
        ({"NAME": "shop", "PORT": "5433"}, "postgresql://localhost:5433/shop"),
        ({"NAME": "shop", "HOST": "a,b", "PORT": "5432"}, "postgresql://a:5432,b:5432/shop"),
        ({"NAME": "shop", "HOST": "a,b", "PORT": "1,2"}, "postgresql://a:1,b:2/shop"),
        (
            {"NAME": "shop", "HOST": "a", "OPTIONS": {"sslmode": "require", "isolation_level": 2}},
            "postgresql://a/shop?sslmode=require",
        ),
    ],
)
def test_the_address_of_a_database(found: dict[str, Any], address: str) -> None:
    assert conf._address(found) == address
    check_address("database_url", address, written=True)


def test_hosts_and_ports_that_do_not_agree_are_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="3 hosts and 2 ports"):
        conf._address({"NAME": "shop", "HOST": "a,b,c", "PORT": "1,2"})


def test_wagtail_brings_its_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    own = f"wagtail={conf.WAGTAIL_ADAPTER}"
    monkeypatch.setattr(settings, "INSTALLED_APPS", ["wagtail.admin"])
    assert conf.project_settings() == {}
    monkeypatch.setattr(settings, "INSTALLED_APPS", ["wagtail.admin", "wagtail"])
    assert conf.project_settings() == {"adapters": own}
    monkeypatch.setenv("SEXTON_ADAPTERS", "shelf=shelf:Shelf")
    assert conf.project_settings() == {"adapters": f"shelf=shelf:Shelf,{own}"}
    monkeypatch.setenv("SEXTON_ADAPTERS", "wagtail=mine:Own")
    assert conf.project_settings() == {"adapters": "wagtail=mine:Own"}


def test_the_name_is_given_or_that_of_the_package() -> None:
    with override_settings(SEXTON={"name": "shop"}, SETTINGS_MODULE="config.settings"):
        assert (conf.project_name(), conf.unnamed_file()) == ("shop", None)
    with override_settings(SEXTON={}, SETTINGS_MODULE=__name__):
        assert (conf.project_name(), conf.unnamed_file()) == (__name__.partition(".")[0], __file__)


def test_processes_find_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend("/srv/shop")
    with override_settings(SEXTON={"port": 7400}):
        found = conf.environment()
    assert found["SEXTON_PORT"] == "7400"
    assert found["SEXTON_APP"] == conf.APP
    path = found["PYTHONPATH"].split(":")
    assert path[0] == "/srv/shop"
    assert not any("site-packages" in each for each in path)
