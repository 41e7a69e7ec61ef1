"""The Celery target: a task of an application that has its own workers, without Celery in ours.

What is sent is a message of Celery's protocol 2, the way its Redis and AMQP transports write it. The id of
the task is the run's idempotency key, so that every attempt of an occurrence is the same task to Celery. With
`wait` the step waits for the task's result in the Redis result backend. If the backend already has a success,
from an attempt that did not wait until the end, the step takes it and does not send the task again.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec

from sexton.connections.address import Address
from sexton.connections.scheme import is_installed
from sexton.model import Cancel, Failure, Outcome, Success
from sexton.security.binding import Use
from sexton.targets.base import TargetServices
from sexton.targets.celery.kind import CeleryTarget
from sexton.targets.message.brokers.base import Message
from sexton.targets.message.step import Pool
from sexton.targets.run import RunContext, Step, clean

LISTEN_SECONDS = 5.0
META = "celery-task-meta-"


class OpenCelery:
    def __init__(self, services: TargetServices) -> None:
        self._renderer = services.renderer
        self._pool = Pool(services.outbound.guard)

    def step(self, spec: CeleryTarget) -> Step | None:
        if not is_installed(spec.broker) or (spec.wait and not is_installed("redis")):
            return None
        return self._renderer.guarded(partial(self._send, spec))

    async def close(self) -> None:
        await self._pool.close()

    async def _send(self, target: CeleryTarget, run: RunContext) -> Outcome:
        reveal = partial(self._renderer.address, kind="celery", run=run, encode=True)
        url = await reveal(target.url)
        args, kwargs = await self._arguments(target, run, await self._renderer.use(run, "celery", url))
        message = task_message(target, run, args, kwargs)
        if not target.wait:
            return await self._pool.publish(target.broker, url, message)
        backend = Address.read(await reveal(target.result_url or target.url), field="result_url")
        backend = await self._pool.pinned(backend, "result_url")
        return await self._send_and_wait(target, url, backend, message)

    async def _arguments(
        self, target: CeleryTarget, run: RunContext, use: Use
    ) -> tuple[list[Any], dict[str, Any]]:
        """As the target says; else the payload: an object as names, anything else as the only one."""
        if target.args is not None or target.kwargs is not None:
            args = await self._renderer.value(target.args or [], run, use)
            return args, await self._renderer.value(target.kwargs or {}, run, use)
        payload = run.payload
        if isinstance(payload, dict):
            return [], payload
        return ([] if payload is None else [payload]), {}

    async def _send_and_wait(
        self, target: CeleryTarget, url: str, backend: Address, message: Message
    ) -> Outcome:
        from redis import exceptions

        from sexton.connections.redis import redis_client

        client: Any = redis_client(backend, field="result_url", socket_connect_timeout=10, socket_timeout=30)
        listener = client.pubsub()
        name = META + message.number
        try:
            # First listen, then look, then send: so no result is missed.
            await listener.subscribe(name)
            known = await client.get(name)
            if known is not None:
                outcome = read_result(known)
                if isinstance(outcome, Success):
                    return outcome
                await client.delete(name)
            sent = await self._pool.publish(target.broker, url, message)
            if not isinstance(sent, Success):
                return sent
            while True:
                heard = await listener.get_message(ignore_subscribe_messages=True, timeout=LISTEN_SECONDS)
                data = heard["data"] if heard is not None else await client.get(name)
                if data is not None and (outcome := read_result(data)) is not None:
                    return outcome
        except exceptions.RedisError as error:
            reason = clean(str(error) or type(error).__name__, 2000)
            return Failure(f"the result backend: {type(error).__name__}: {reason}")
        finally:
            await asyncio.shield(_close(listener, client))


async def _close(listener: Any, client: Any) -> None:
    await listener.aclose()
    await client.aclose()


def task_message(target: CeleryTarget, run: RunContext, args: list[Any], kwargs: dict[str, Any]) -> Message:
    """The task as its broker carries it."""
    number = run.idempotency_key
    body = msgspec.json.encode(
        [args, kwargs, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    )
    headers: dict[str, Any] = {
        "lang": "py",
        "task": target.task,
        "id": number,
        "root_id": number,
        "parent_id": None,
        "group": None,
        "shadow": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": clean(repr(args), 1000),
        "kwargsrepr": clean(repr(kwargs), 1000),
        "origin": f"sexton{os.getpid()}@{socket.gethostname()}",
        "ignore_result": False,
    }
    if target.broker == "rabbitmq":
        return Message(target.queue, body, number, headers=headers, correlation=number)
    properties = {
        "correlation_id": number,
        "reply_to": "",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": target.queue},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": str(uuid4()),
    }
    wrapped = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": properties,
    }
    return Message(target.queue, msgspec.json.encode(wrapped), number, redis_type="celery")


def read_result(data: bytes) -> Outcome | None:
    """What the result backend says of a task; None while it is under way."""
    answer = msgspec.json.decode(data)
    match answer.get("status"):
        case "SUCCESS":
            return Success(answer.get("result"))
        case "FAILURE":
            error = answer.get("result") or {}
            if isinstance(error, dict):
                said = error.get("exc_message")
                words = " ".join(map(str, said)) if isinstance(said, list) else str(said or "")
                text = f"{error.get('exc_type', 'the task failed')}: {words}"
            else:
                text = str(error)
            trace = answer.get("traceback")
            return Failure(clean(f"{text}\n\n{trace}" if trace else text, 8000))
        case "REVOKED":
            return Cancel("the task was revoked")
    return None
