"""The elector that the settings name. Clients of servers that not every installation has are extras of the
package."""

from __future__ import annotations

from importlib import import_module
from urllib.parse import urlsplit

from sexton.config import Settings
from sexton.connections.scheme import SCHEMES, require_client
from sexton.engine.cluster.electors.advisory import AdvisoryElector
from sexton.engine.cluster.electors.base import FIELD, Elector
from sexton.engine.cluster.electors.postgres import PostgresElector
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
    server = SCHEMES[urlsplit(address).scheme].server
    require_client(server, "elector", field=FIELD)
    module = import_module(f"sexton.engine.cluster.electors.{server}")
    elector: Elector = getattr(module, CLASSES[server])(address, lease_seconds=lease)
    return elector
