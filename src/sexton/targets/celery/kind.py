"""The kind of target `celery`: what people write, and what is refused when a job is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec

from sexton.config import Settings
from sexton.connections.scheme import is_installed
from sexton.refusal import about, check_text
from sexton.security.placeholder import SecretRef
from sexton.targets.base import OpenKind, TargetKind, TargetServices, refuse
from sexton.targets.message.address import check_broker_address
from sexton.targets.template import check_run_template

CeleryBroker = Literal["redis", "rabbitmq"]


class CeleryTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task of a Celery application."""

    broker: Annotated[CeleryBroker, about("redis or rabbitmq.")]
    url: Annotated[str | SecretRef, about("The URL of the broker; a text, or a secret.")]
    task: Annotated[str, about("The name of the task.")]
    args: Annotated[
        list[Any] | None, about("The positional arguments of the task; texts in them are templates.")
    ] = None
    kwargs: Annotated[
        dict[str, Any] | None,
        about("The named arguments of the task; texts in them are templates. Default: the payload."),
    ] = None
    queue: Annotated[str, about("The queue of Celery.")] = "celery"
    wait: Annotated[bool, about("Whether the run waits for the result.")] = False
    result_url: Annotated[
        str | SecretRef | None, about("The URL of the Redis that keeps results, if it is not at `url`.")
    ] = None


class CeleryKind(TargetKind[CeleryTarget]):
    name = "celery"
    spec = CeleryTarget
    example: ClassVar[Any] = {"broker": "redis", "url": "redis://host:6379/0", "task": "shop.bill"}
    how_to_serve = "pip install 'sexton[{need}]' where workers run"
    harmless = True

    def check(self, spec: CeleryTarget, payload: Any, field: str) -> None:
        check_broker_address(spec.url, spec.broker, f"{field}.url")
        check_text(spec.task, f"{field}.task", 500)
        check_text(spec.queue, f"{field}.queue", 255)
        for name, given in (("args", spec.args), ("kwargs", spec.kwargs)):
            each_text(given, partial(check_run_template, payload=payload, field=f"{field}.{name}"))
        if spec.result_url is not None:
            check_broker_address(spec.result_url, "redis", f"{field}.result_url")
            if not spec.wait:
                what = "result_url is given, but nothing waits for the result"
                raise refuse("bad_target", what, f"{field}.wait", 'add "wait": true')
        elif spec.wait and spec.broker != "redis":
            what = "waiting for a result needs the application's Redis result backend"
            hint = 'add "result_url": "redis://host:6379/0"'
            raise refuse("bad_target", what, f"{field}.result_url", hint)

    def need(self, spec: CeleryTarget) -> str:
        return spec.broker

    def served(self, settings: Settings) -> list[str]:
        return [broker for broker in get_args(CeleryBroker) if is_installed(broker)]

    def load(self, need: str) -> None:
        import_module(f"sexton.targets.message.brokers.{need}")
        if is_installed("redis"):  # where results are waited for
            import_module("sexton.connections.redis")

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.targets.celery.step import OpenCelery

        return OpenCelery(services)


def each_text(value: Any, visit: Callable[[str], object]) -> None:
    """Every text inside a JSON value."""
    match value:
        case str():
            visit(value)
        case list():
            for item in value:
                each_text(item, visit)
        case dict():
            for item in value.values():
                each_text(item, visit)
