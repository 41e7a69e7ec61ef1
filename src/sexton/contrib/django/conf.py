"""The settings of a Django project as settings of Sexton.

`SEXTON` holds settings of Sexton by name, and two more: `name`, the name of the application, and `database`,
the key in `DATABASES` of the database that Sexton uses. Environment variables (SEXTON_…) override it, so that
deployments may differ; options of a command override both.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured  # type: ignore[import-untyped]
from django.db import connections  # type: ignore[import-untyped]

from sexton.config import PREFIX, check_names
from sexton.errors import InvalidField

APP = "sexton.contrib.django.project:app"
WAGTAIL = "wagtail"
WAGTAIL_ADAPTER = "sexton.contrib.django.wagtail:WagtailAdapter"
DATABASE = "database"
NAME = "name"
# Options of a connection that both drivers know.
OPTIONS = ("sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "target_session_attrs")


def project_name() -> str:
    """The name of the project's application: `name`, or the name of the package with the settings."""
    given = _given().get(NAME)
    return str(given) if given is not None else (settings.SETTINGS_MODULE or "django").partition(".")[0]


def unnamed_file() -> str | None:
    """The file that identifies a project without a `name`; None: it has a `name`."""
    if _given().get(NAME) is not None:
        return None
    return getattr(sys.modules.get(settings.SETTINGS_MODULE or ""), "__file__", None)


def project_settings() -> dict[str, Any]:
    """The settings of Sexton in the project, except those that have a variable."""
    own = {name: value for name, value in _given().items() if name not in (NAME, DATABASE)}
    if "app" in own:
        raise ImproperlyConfigured(
            "SEXTON has the setting app; remove it: a project uses sexton.contrib.django.project:app"
        )
    try:
        check_names(own)
    except InvalidField as error:
        raise ImproperlyConfigured(f"SEXTON: {error}") from None
    own = {name: value for name, value in own.items() if value is not None and not _has_variable(name)}
    if not _has_variable("database_url") and not _has_variable("data") and "data" not in own:
        own.setdefault("database_url", _database_url())
    if WAGTAIL in map(_first_part, settings.INSTALLED_APPS):
        own["adapters"] = _with_wagtail(os.environ.get("SEXTON_ADAPTERS") or own.get("adapters") or "")
    return {name: value for name, value in own.items() if value is not None}


def environment() -> dict[str, str]:
    """The variables by which the processes of `manage.py sexton` find the project and its settings."""
    return {
        **{f"{PREFIX}{name.upper()}": str(value) for name, value in project_settings().items()},
        "SEXTON_APP": os.environ.get("SEXTON_APP") or APP,
        "PYTHONPATH": os.pathsep.join(_project_path()),
    }


def database_url(alias: str) -> str:
    """The address of one of `DATABASES`, which must be a PostgreSQL."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        raise ImproperlyConfigured(
            f"SEXTON names the database {alias}, which is {connection.display_name}; Sexton needs PostgreSQL:"
            " name another one, or None for a private PostgreSQL that Sexton starts itself"
        )
    return _address(connection.settings_dict)


def _given() -> dict[str, Any]:
    given = getattr(settings, "SEXTON", {})
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"SEXTON is {given!r}; write a dictionary, such as {{'name': 'shop'}}")
    return dict(given)


def _database_url() -> str | None:
    """None: a private PostgreSQL, as without Django."""
    given = _given()
    if DATABASE in given:
        return None if given[DATABASE] is None else database_url(given[DATABASE])
    usual = settings.DATABASES.get("default") or {}
    if not usual.get("ENGINE") or connections["default"].vendor != "postgresql":
        return None
    return database_url("default")


def _address(found: Mapping[str, Any]) -> str:
    """The address with every part quoted; several hosts are separated by commas, as in libpq."""
    hosts, ports = str(found.get("HOST") or ""), str(found.get("PORT") or "")
    user, password = (quote(str(found.get(part) or ""), safe="") for part in ("USER", "PASSWORD"))
    query = {name: value for name, value in found.get("OPTIONS", {}).items() if name in OPTIONS}
    where = ""
    if hosts.startswith("/"):
        query |= {"host": hosts} | ({"port": ports} if ports else {})
    elif hosts:
        where = _places(hosts.split(","), ports.split(",") if ports else [])
    elif ports:
        where = f"localhost:{ports}"
    who = f"{user}:{password}@" if password else f"{user}@" if user else ""
    rest = f"?{urlencode(query)}" if query else ""
    return f"postgresql://{who}{where}/{quote(str(found.get('NAME') or ''), safe='')}{rest}"


def _places(hosts: list[str], ports: list[str]) -> str:
    each = ports * len(hosts) if len(ports) == 1 else ports or [""] * len(hosts)
    if len(each) != len(hosts):
        raise ImproperlyConfigured(
            f"the database has {len(hosts)} hosts and {len(each)} ports: give one port, or one for each host"
        )
    names = [f"[{host}]" if ":" in host else host for host in hosts]
    return ",".join(f"{name}:{port}" if port else name for name, port in zip(names, each, strict=True))


def _with_wagtail(adapters: str) -> str:
    """The setting `adapters` with the adapter of the site, unless it has one of that name."""
    named = [each.strip() for each in adapters.split(",") if each.strip()]
    if any(each.partition("=")[0].strip() == WAGTAIL for each in named):
        return adapters
    return ",".join([*named, f"{WAGTAIL}={WAGTAIL_ADAPTER}"])


def _has_variable(name: str) -> bool:
    return f"{PREFIX}{name.upper()}" in os.environ


def _first_part(installed: str) -> str:
    """The app without its config class: `wagtail` and `wagtail.apps.WagtailCoreAppConfig` are both Wagtail;
    `wagtail.admin` is not."""
    return installed.partition(".apps.")[0]


def _project_path() -> list[str]:
    """The entries of `sys.path` before those of Python: the project, and PYTHONPATH."""
    path = []
    for entry in sys.path:
        if entry == sysconfig.get_path("stdlib") or entry.endswith(".zip"):
            break
        path.append(os.path.abspath(entry))  # noqa: PTH100 - "" is the present directory
    return path
