"""The elector that the settings name. Clients of servers that not everybody has are extras of the package."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from sexton.config import Settings
from sexton.engine.cluster.electors.advisory import AdvisoryElector
from sexton.engine.cluster.electors.base import Elector
from sexton.engine.cluster.electors.postgres import PostgresElector
from sexton.errors import InvalidField
from sexton.postgres.database import Database


def choose_elector(settings: Settings, database: Database) -> Elector:
    """An elector by the name or address in the setting `elector`."""
    lease, address = settings.lease_seconds, settings.elector
    match urlsplit(address).scheme or address:
        case "postgres":
            return PostgresElector()
        case "advisory":
            return AdvisoryElector(database, lease_seconds=lease)
        case "redis" | "rediss":
            _require("redis", extra="redis")
            from sexton.engine.cluster.electors.redis import RedisElector

            return RedisElector(address, lease_seconds=lease)
        case "etcd" | "etcd+ssl":
            _require("aetcd", extra="etcd")
            from sexton.engine.cluster.electors.etcd import EtcdElector

            return EtcdElector(address, lease_seconds=lease)
        case "zookeeper":
            _require("kazoo", extra="zookeeper")
            from sexton.engine.cluster.electors.zookeeper import ZooKeeperElector

            return ZooKeeperElector(address, lease_seconds=lease)
        case unknown:
            raise InvalidField(
                "bad_elector", f"there is no elector {unknown!r}", field="elector", hint="see the settings"
            )


def _require(module: str, *, extra: str) -> None:
    if find_spec(module) is None:
        raise InvalidField(
            "elector_not_installed",
            f"the elector {extra} needs the Python package {module}",
            field="elector",
            hint=f"pip install 'sexton[{extra}]'",
        )
