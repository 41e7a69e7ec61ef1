"""The broker that the settings name. The clients of brokers are extras of the package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from sexton.config import Settings
from sexton.connections.scheme import SCHEMES, require_client
from sexton.connections.tls import context_of
from sexton.engine.doorbells.base import FIELD, Broker

MakeBroker = Callable[[str], Broker]

# The class of each server's broker; its module has the server's name.
CLASSES = {
    "redis": "RedisBroker",
    "rabbitmq": "RabbitBroker",
    "nats": "NatsBroker",
    "kafka": "KafkaBroker",
    "sqs": "SqsBroker",
}


def choose_broker(settings: Settings) -> MakeBroker | None:
    """Makes the broker of a cluster from the cluster's name; None without a broker."""
    url = settings.queue_url
    if url == "postgres":
        return None
    server = SCHEMES[urlsplit(url).scheme].server
    require_client(server, "queue", field=FIELD)
    made: Any = getattr(import_module(f"sexton.engine.doorbells.{server}"), CLASSES[server])
    # Refuse an address that can never work now, not at the first call.
    context_of(made(url, "").address, FIELD)
    return lambda cluster: made(url, cluster)
