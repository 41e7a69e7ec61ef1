"""The broker that the settings name. Clients of brokers that not everybody has are extras of the package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sexton.config import Settings
from sexton.connections.tls import context_of
from sexton.engine.doorbells.base import FIELD, Broker
from sexton.errors import InvalidField

MakeBroker = Callable[[str], Broker]


class _Kind(NamedTuple):
    extra: str
    package: str
    module: str
    broker: str


_REDIS = _Kind("redis", "redis", "sexton.engine.doorbells.redis", "RedisBroker")
_RABBITMQ = _Kind("rabbitmq", "aio_pika", "sexton.engine.doorbells.rabbitmq", "RabbitBroker")
_NATS = _Kind("nats", "nats", "sexton.engine.doorbells.nats", "NatsBroker")
_KAFKA = _Kind("kafka", "aiokafka", "sexton.engine.doorbells.kafka", "KafkaBroker")

KINDS = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "amqp": _RABBITMQ,
    "amqps": _RABBITMQ,
    "nats": _NATS,
    "tls": _NATS,
    "kafka": _KAFKA,
    "kafka+ssl": _KAFKA,
    "sqs": _Kind("sqs", "aiobotocore", "sexton.engine.doorbells.sqs", "SqsBroker"),
}


def choose_broker(settings: Settings) -> MakeBroker | None:
    """How to make the broker of a cluster, given the cluster's name; None if PostgreSQL is all there is."""
    url = settings.queue_url
    if url == "postgres":
        return None
    kind = KINDS[urlsplit(url).scheme]
    if find_spec(kind.package) is None:
        raise InvalidField(
            "queue_not_installed",
            f"the queue {kind.extra} needs the Python package {kind.package}",
            field=FIELD,
            hint=f"pip install 'sexton[{kind.extra}]'",
        )
    made: Any = getattr(import_module(kind.module), kind.broker)
    # What can never work is refused now, not by the first call.
    context_of(made(url, "").address, FIELD)
    return lambda cluster: made(url, cluster)
