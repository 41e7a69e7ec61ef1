"""The kind of target `message`: what people write, and what is refused when a job is made."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from sexton.config import Settings
from sexton.connections.scheme import is_installed, servers
from sexton.refusal import about, check_text
from sexton.security.placeholder import SecretRef
from sexton.targets.base import OpenKind, TargetKind, TargetServices, refuse
from sexton.targets.http.kind import WaitSeconds, check_answered, check_wait
from sexton.targets.message.address import check_broker_address
from sexton.targets.template import check_run_template

# SQS takes ten attributes; Sexton has seven of its own.
MOST_HEADERS = {"sqs": 3}


class MessageTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message to a broker."""

    broker: Annotated[
        Literal["kafka", "rabbitmq", "nats", "redis", "sqs", "mqtt"],
        about("kafka, rabbitmq, nats, redis, sqs or mqtt."),
    ]
    url: Annotated[str | SecretRef, about("The URL of the broker; a text, or a secret.")]
    topic: Annotated[str, about("A template of the topic, queue, subject, stream or routing key.")]
    key: Annotated[str | None, about("A template of the key: messages with one key stay in order.")] = None
    headers: Annotated[dict[str, str], about("The headers of the message; their values are templates.")] = {}
    format: Annotated[
        Literal["envelope", "payload"],
        about("envelope: payload, ids and times; or payload: the payload alone."),
    ] = "envelope"
    exchange: Annotated[str, about("For rabbitmq: the exchange; empty: the default exchange.")] = ""
    redis_type: Annotated[
        Literal["stream", "list", "channel"],
        about("For redis: the kind of the topic: stream, list or channel."),
    ] = "stream"
    mode: Annotated[
        Literal["sync", "async"], about("sync, or async: the receiver reports the outcome later.")
    ] = "sync"
    wait_seconds: WaitSeconds = None


class MessageKind(TargetKind[MessageTarget]):
    name = "message"
    spec = MessageTarget
    example: ClassVar[Any] = {"broker": "redis", "url": "redis://host:6379/0", "topic": "orders"}
    how_to_serve = "pip install 'sexton[{need}]' where workers run"
    takes_dead_letters = True
    harmless = True

    def check(self, spec: MessageTarget, payload: Any, field: str) -> None:
        check_broker_address(spec.url, spec.broker, f"{field}.url")
        for name, template in (("topic", spec.topic), ("key", spec.key)):
            if template is not None:
                check_text(template, f"{field}.{name}", 500)
                check_run_template(template, payload, f"{field}.{name}")
        most = MOST_HEADERS.get(spec.broker, 50)
        headers = f"{field}.headers"
        if len(spec.headers) > most:
            what = f"{spec.broker} takes {most} headers beside those of Sexton"
            raise refuse("too_many", what, headers, "leave some out, or put them into the payload")
        for name, value in spec.headers.items():
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
                hint = "use letters, digits, dots, dashes and underscores"
                raise refuse("bad_header", f"{name!r} is not the name of a header", headers, hint)
            if name.lower().startswith("sexton-") or name.lower() == "idempotency-key":
                raise refuse("bad_header", f"{name} is set by Sexton", headers, "leave it out")
            if value:
                check_text(value, f"{headers}.{name}", 2000)
                check_run_template(value, payload, f"{headers}.{name}")
        if spec.exchange:
            check_text(spec.exchange, f"{field}.exchange", 255)
        check_wait(spec.mode, spec.wait_seconds, field)
        for name, broker, default in (("exchange", "rabbitmq", ""), ("redis_type", "redis", "stream")):
            if spec.broker != broker and getattr(spec, name) != default:
                what = f"{name} is for {broker}, not for {spec.broker}"
                raise refuse("bad_target", what, f"{field}.{name}", "leave it out")

    def check_letters(self, spec: MessageTarget, field: str) -> None:
        check_answered(spec.mode, field)

    def need(self, spec: MessageTarget) -> str:
        return spec.broker

    def served(self, settings: Settings) -> list[str]:
        return [broker for broker in servers("message") if is_installed(broker)]

    def load(self, need: str) -> None:
        import_module(f"sexton.targets.message.brokers.{need}")

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.targets.message.step import OpenMessage

        return OpenMessage(services)
