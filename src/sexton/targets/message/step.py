"""The message target: it sends a run to a broker. The broker's acknowledgement is its success.

The runs of a worker share one connection per address. After an error the connection is closed, and the next
attempt makes a new one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from sexton.clock import iso
from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.scheme import is_installed
from sexton.model import Failure, Outcome, Success, Wait
from sexton.targets.base import Refused, TargetServices
from sexton.targets.message.brokers.base import (
    CONNECT_SECONDS,
    PUBLISH_SECONDS,
    Message,
    Publisher,
    connect,
    pinned,
)
from sexton.targets.message.kind import MessageTarget
from sexton.targets.run import TOKEN_HEADER, RunContext, Step, clean

log = logging.getLogger("sexton")

MOST_CONNECTIONS = 200
CLOSE_SECONDS = 5.0


class OpenMessage:
    def __init__(self, services: TargetServices) -> None:
        self._renderer = services.renderer
        self._pool = Pool(services.outbound.guard)

    def step(self, spec: MessageTarget) -> Step | None:
        if not is_installed(spec.broker):
            return None
        return self._renderer.guarded(partial(self._send, spec))

    async def close(self) -> None:
        await self._pool.close()

    async def _send(self, target: MessageTarget, run: RunContext) -> Outcome:
        url = await self._renderer.address(target.url, "message", run, encode=True)
        text = partial(self._renderer.text, use=await self._renderer.use(run, "message", url))
        token = await run.token() if target.mode == "async" else None
        message = Message(
            topic=await text(target.topic, run),
            key=None if target.key is None else await text(target.key, run),
            headers={
                **{name: one_line(await text(value, run)) for name, value in target.headers.items()},
                **id_headers(run),
                **({} if token is None else {TOKEN_HEADER: token}),
            },
            body=(
                (run.payload_json or "null").encode() if target.format == "payload" else envelope(run, token)
            ),
            number=run.idempotency_key,
            exchange=target.exchange,
            redis_type=target.redis_type,
        )
        outcome = await self._pool.publish(target.broker, url, message)
        if token is not None and isinstance(outcome, Success):
            return Wait(target.wait_seconds or run.policy.timeout_seconds)
        return outcome


@dataclass(slots=True)
class _Connection:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    publisher: Publisher | None = None


class Pool:
    """Connections by broker and address; the least recently used one makes room."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._connections: OrderedDict[tuple[str, str], _Connection] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    async def publish(self, broker: str, url: str, message: Message) -> Outcome:
        connection = self._connection(broker, url)
        publisher: Publisher | None = None
        try:
            publisher = await self._open(connection, broker, url)
            async with asyncio.timeout(PUBLISH_SECONDS):
                return Success({"broker": broker, "topic": message.topic, **await publisher.publish(message)})
        except Refused as error:
            # RabbitMQ closes the channel with its refusal.
            self._give_up(connection, publisher)
            return Failure(str(error), permanent=True)
        except TimeoutError:
            self._give_up(connection, publisher)
            what = "acknowledge the message" if publisher else "answer"
            return Failure(f"timeout: {broker} did not {what} in time", kind="timeout")
        except Exception as error:
            self._give_up(connection, publisher)
            reason = clean(str(error) or type(error).__name__, 2000)
            return Failure(f"{broker}: {type(error).__name__}: {reason}")

    async def pinned(self, address: Address, field: str) -> Address:
        """The address with checked IP addresses."""
        return await pinned(address, self._guard, field)

    async def close(self) -> None:
        for connection in self._connections.values():
            self._give_up(connection, connection.publisher)
        self._connections.clear()
        if self._closing:
            await asyncio.wait(self._closing)

    def _connection(self, broker: str, url: str) -> _Connection:
        key = (broker, url)
        connection = self._connections.setdefault(key, _Connection())
        self._connections.move_to_end(key)
        while len(self._connections) > MOST_CONNECTIONS:
            _, old = self._connections.popitem(last=False)
            self._give_up(old, old.publisher)
        return connection

    async def _open(self, connection: _Connection, broker: str, url: str) -> Publisher:
        async with connection.lock:
            if connection.publisher is None:
                async with asyncio.timeout(CONNECT_SECONDS):
                    connection.publisher = await connect(broker, url, self._guard)
            return connection.publisher

    def _give_up(self, connection: _Connection, publisher: Publisher | None) -> None:
        """Close the connection, unless another attempt has a new one already."""
        if publisher is None or connection.publisher is not publisher:
            return
        connection.publisher = None
        task = asyncio.get_running_loop().create_task(_close(publisher))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _close(publisher: Publisher) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await publisher.close()
    except Exception as error:
        log.debug("a connection to a broker did not close: %s", error)


def envelope(run: RunContext, token: str | None = None) -> bytes:
    """The payload with everything about the run. With `token` the receiver reports the end."""
    payload = msgspec.Raw((run.payload_json or "null").encode())
    content: dict[str, Any] = {
        "payload": payload,
        "job_id": run.job_id,
        "job_name": run.job_name,
        "run_id": run.run_id,
        "scheduled_at": iso(run.scheduled_at),
        "attempt": run.attempt,
        "trigger": str(run.trigger),
        "missed": run.missed,
        "idempotency_key": run.idempotency_key,
    }
    if token is not None:
        path = f"/api/v1/runs/{run.run_id}"
        reply = {verb: f"{path}/{verb}" for verb in ("complete", "fail", "heartbeat")}
        content |= {"token": token, "reply": reply}
    return msgspec.json.encode(content)


def id_headers(run: RunContext) -> dict[str, str]:
    return {
        "Idempotency-Key": one_line(run.idempotency_key),
        "Sexton-Job-Id": run.job_id,
        "Sexton-Run-Id": run.run_id,
        "Sexton-Attempt": str(run.attempt),
        "Sexton-Scheduled-At": iso(run.scheduled_at),
        "Sexton-Trigger": str(run.trigger),
    }


def one_line(text: str) -> str:
    """A text without characters that would end a header: it may come from a payload."""
    return "".join(char if char.isprintable() else " " for char in text)
