"""The elector that the settings name: one of Sexton's own, or one of another package, by the scheme of its
address. The clients of most servers are extras of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from sexton.config import Settings
from sexton.connections.scheme import SCHEMES, plug_ins, require_client
from sexton.engine.cluster.electors.advisory import AdvisoryElector
from sexton.engine.cluster.electors.base import FIELD, Elector
from sexton.engine.cluster.electors.postgres import PostgresElector
from sexton.errors import InvalidField
from sexton.postgres.database import Database

# The class of each server's elector; its module has the server's name.
CLASSES = {"redis": "RedisElector", "etcd": "EtcdElector", "zookeeper": "ZooKeeperElector"}


def choose_elector(settings: Settings, database: Database) -> Elector:
    """An elector by the name or address in the setting `elector`."""
    lease, address = settings.lease_seconds, settings.elector
    match address:
        case "postgres":
            return PostgresElector()
        case "advisory":
            return AdvisoryElector(database, lease_seconds=lease)
    scheme = urlsplit(address).scheme
    make = _built_in(SCHEMES[scheme].server) if scheme in SCHEMES else _plugged_in(scheme)
    elector: Elector = make(address, lease_seconds=lease)
    return elector


def _built_in(server: str) -> Any:
    require_client(server, "elector", field=FIELD)
    return getattr(import_module(f"sexton.engine.cluster.electors.{server}"), CLASSES[server])


def _plugged_in(scheme: str) -> Any:
    try:
        return plug_ins("elector")[scheme].load()
    except Exception as error:
        raise InvalidField(
            "bad_elector",
            f"the elector {scheme} cannot be loaded: {error!r}",
            field=FIELD,
            hint="correct the package that brings it, with an entry point of the group sexton.electors",
        ) from error
