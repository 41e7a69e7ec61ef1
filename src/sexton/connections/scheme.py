"""The servers beside PostgreSQL: the schemes of their addresses, their uses, and their clients.

This is the only table of them. Settings, queues, electors and targets accept what it lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from typing import Literal

from sexton.errors import InvalidField

Use = Literal["elector", "queue", "message"]

# The Python package of each server's client. The extra of Sexton that installs it has the server's name.
CLIENTS: Mapping[str, str] = {
    "redis": "redis",
    "rabbitmq": "aio_pika",
    "nats": "nats",
    "kafka": "aiokafka",
    "sqs": "aiobotocore",
    "mqtt": "aiomqtt",
    "etcd": "aetcd",
    "zookeeper": "kazoo",
}


@dataclass(frozen=True, slots=True)
class Scheme:
    """`secure` is the scheme of the same server with TLS. `several`: an address takes several hosts with
    commas. `options` may follow the question mark, `queue_options` only in a queue's address."""

    server: str
    port: int
    example: str
    uses: tuple[Use, ...]
    secure: str = ""
    several: bool = False
    options: tuple[str, ...] = ()
    queue_options: tuple[str, ...] = ()


_MESSAGE: tuple[Use, ...] = ("message",)
_BROKER: tuple[Use, ...] = ("queue", "message")
_ELECTOR: tuple[Use, ...] = ("elector",)
_ANY: tuple[Use, ...] = ("elector", "queue", "message")

SCHEMES: Mapping[str, Scheme] = {
    "redis": Scheme("redis", 6379, "redis://host:6379/0", _ANY, "rediss"),
    "rediss": Scheme("redis", 6379, "rediss://host:6379/0", _ANY, "rediss"),
    "unix": Scheme("redis", 0, "unix:///run/redis.sock", _MESSAGE, options=("db",)),
    "amqp": Scheme("rabbitmq", 5672, "amqp://user:password@host:5672/", _BROKER, "amqps"),
    "amqps": Scheme("rabbitmq", 5671, "amqps://user:password@host:5671/", _BROKER, "amqps"),
    "nats": Scheme("nats", 4222, "nats://host:4222", _BROKER, "tls", several=True),
    "tls": Scheme("nats", 4222, "tls://user:password@host:4222", _BROKER, "tls", several=True),
    "kafka": Scheme(
        "kafka", 9092, "kafka://host:9092,host:9092", _BROKER, "kafka+ssl",
        several=True, options=("sasl",), queue_options=("partitions",),
    ),
    "kafka+ssl": Scheme(
        "kafka", 9092, "kafka+ssl://user:password@host:9092,host:9092", _BROKER, "kafka+ssl",
        several=True, options=("sasl",), queue_options=("partitions",),
    ),
    "sqs": Scheme("sqs", 443, "sqs://eu-central-1", _BROKER, queue_options=("endpoint",)),
    "http": Scheme("sqs", 80, "http://host:9324?region=us-east-1", _MESSAGE, options=("region",)),
    "https": Scheme("sqs", 443, "https://host?region=us-east-1", _MESSAGE, options=("region",)),
    "mqtt": Scheme("mqtt", 1883, "mqtt://host:1883", _MESSAGE, "mqtts"),
    "mqtts": Scheme("mqtt", 8883, "mqtts://host:8883", _MESSAGE, "mqtts"),
    "etcd": Scheme("etcd", 2379, "etcd://host:2379", _ELECTOR, "etcd+ssl", several=True),
    "etcd+ssl": Scheme("etcd", 2379, "etcd+ssl://host:2379", _ELECTOR, "etcd+ssl", several=True),
    "zookeeper": Scheme("zookeeper", 2181, "zookeeper://host:2181,host:2181", _ELECTOR, several=True),
}  # fmt: skip


def servers(use: Use) -> list[str]:
    """The servers with this use."""
    return list(dict.fromkeys(each.server for each in SCHEMES.values() if use in each.uses))


def examples(use: Use, server: str | None = None) -> dict[str, str]:
    """An example address for each scheme with this use, of one server or of all."""
    return {
        name: each.example
        for name, each in SCHEMES.items()
        if use in each.uses and server in (None, each.server)
    }


def plug_ins(use: Use) -> EntryPoints:
    """The plug-ins of installed packages, by the scheme of their addresses: electors are in the group of
    entry points `sexton.electors`."""
    return entry_points(group=f"sexton.{use}s")


def is_installed(server: str) -> bool:
    """Whether the client of the server is installed here."""
    return find_spec(CLIENTS[server]) is not None


def require_client(server: str, use: Use, *, field: str) -> None:
    """Refuse a server whose client is not installed here."""
    if not is_installed(server):
        raise InvalidField(
            f"{use}_not_installed",
            f"the {use} {server} needs the Python package {CLIENTS[server]}",
            field=field,
            hint=f"pip install 'sexton[{server}]'",
        )
