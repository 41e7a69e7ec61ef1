"""Targets as people write them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sexton.security.placeholder import SecretRef

SHELL = "/bin/sh"
# Seconds that trying a target out may take.
LONGEST_TRIAL = 60.0


class HttpTls(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Files on the worker's machine, in the PEM form: what we show to the service, and whom we believe."""

    cert: str | None = None
    key: str | None = None
    ca: str | None = None


class HttpTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A signed request to a service."""

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] = {}
    body: str | None = None
    success_codes: list[int] | None = None
    capture: bool = True
    capture_bytes: int = 16_384
    capture_headers: list[str] = []
    redirects: int = 0
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float | None = None
    tls: HttpTls | None = None
    mode: Literal["sync", "async"] = "sync"
    wait_seconds: int | None = None


class MessageTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message to a broker. `topic` is its topic, queue, subject, stream or routing key."""

    broker: Literal["kafka", "rabbitmq", "nats", "redis", "sqs", "mqtt"]
    url: str | SecretRef
    topic: str
    key: str | None = None
    headers: dict[str, str] = {}
    format: Literal["envelope", "payload"] = "envelope"
    exchange: str = ""
    redis_type: Literal["stream", "list", "channel"] = "stream"
    mode: Literal["sync", "async"] = "sync"
    wait_seconds: int | None = None


class CeleryTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task of a Celery application."""

    broker: Literal["redis", "rabbitmq"]
    url: str | SecretRef
    task: str
    args: list[Any] | None = None
    kwargs: dict[str, Any] | None = None
    queue: str = "celery"
    wait: bool = False
    result_url: str | SecretRef | None = None


class ShellTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command on the worker's machine: a list of words, or a script for /bin/sh."""

    command: list[str] | None = None
    script: str | None = None
    environment: dict[str, str] = {}
    directory: str | None = None
    success_codes: list[int] | None = None
    permanent_codes: list[int] = []

    @property
    def words(self) -> list[str]:
        return self.command or [SHELL, "-c", self.script or ""]


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who carries a run out: exactly one of these."""

    handler: str | None = None
    http: HttpTarget | None = None
    message: MessageTarget | None = None
    celery: CeleryTarget | None = None
    shell: ShellTarget | None = None

    @property
    def kind(self) -> str:
        if self.handler is not None:
            return "handler"
        return next((kind for kind in self.__struct_fields__ if getattr(self, kind) is not None), "handler")

    @property
    def need(self) -> str:
        """What of its kind a worker must have: the handler, the broker's client, leave for the command."""
        if self.handler is not None:
            return self.handler
        if (broker := self.message or self.celery) is not None:
            return broker.broker
        return self.shell.words[0] if self.shell is not None else ""


def lane_name(kind: str, need: str) -> str:
    """What a worker serves, in a word: `http`, `message:redis`, `shell:/bin/sh`."""
    return f"{kind}:{need}" if need else kind


def how_to_serve(kind: str, need: str) -> str:
    """What to do where no worker serves such a target."""
    match kind:
        case "shell":
            return f"start one with --allow-shell --shell-commands {need}"
        case "message" | "celery":
            return f"pip install 'sexton[{need}]' where workers run"
    return "start one"
