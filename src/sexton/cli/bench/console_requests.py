"""What each view of the console asks, asked over HTTP of a process that serves it, and what it takes."""

from __future__ import annotations

import socket
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from sexton import clock
from sexton.cli.bench.console_views import FRAME, Examples, PageQuestion, PageView, views
from sexton.cli.bench.harness import BenchProcess, Ground, Say
from sexton.errors import Unavailable

SLOW_MILLISECONDS = 200.0
ROUNDS = 5
API = "/api/v1"
READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Serving:
    """A process with the role api."""

    process: BenchProcess
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(made: Ground) -> AsyncIterator[Serving]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await made.start("api", SEXTON_PORT=str(port), SEXTON_HOST="127.0.0.1", SEXTON_API_RATE="0")
    server = Serving(process, port)
    try:
        async with aiohttp.ClientSession() as client:
            began = clock.monotonic()
            while not await _is_ready(client, server.url):
                made.check()
                if clock.monotonic() - began > READY_SECONDS:
                    raise Unavailable("bench_failed", f"the api is not ready: {process.last_words()}")
                await clock.sleep(0.1)
        yield server
    finally:
        await made.stop("api")


async def _is_ready(client: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with client.get(f"{url}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


@dataclass(slots=True)
class AnswerTimes:
    """How long the answers to one question took, in milliseconds, and how large they are."""

    question: PageQuestion
    took: list[float]
    size: int
    #: Processor time of an answer, the api's and the database's; None if that runs elsewhere.
    processor: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.took)


async def ask(made: Ground, server: Serving, examples: Examples, say: Say) -> dict[str, Any]:
    """Every question of every view some times; the first answer is not counted."""
    shown: list[dict[str, Any]] = []
    async with aiohttp.ClientSession(server.url) as client:
        frame = [await _asked(made, client, PageQuestion(path)) for path in FRAME]
        for view in views(examples):
            answers = [await _asked(made, client, question) for question in view.questions]
            shown.append(_figures(view, [*frame, *answers], say))
    quick = [each for each in shown if not each["counts"]]
    slow = [f"{each['view']}: {each['slowest']}" for each in quick if each["query_ms"] > SLOW_MILLISECONDS]
    worst = max(quick, key=lambda each: each["query_ms"])
    return {
        "views": shown,
        "slowest": f"{worst['view']}: {worst['slowest']}",
        "slowest_milliseconds": worst["query_ms"],
        "slow": slow,
    }


async def _asked(made: Ground, client: aiohttp.ClientSession, question: PageQuestion) -> AnswerTimes:
    took, size, before = [], 0, made.usage()
    for round_ in range(ROUNDS + 1):
        if round_ == 1:
            before = made.usage()
        began = clock.monotonic()
        body = None if question.body is None else msgspec.json.encode(question.body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        async with client.request(question.method, API + question.path, data=body, headers=headers) as answer:
            text = await answer.read()
        took.append((clock.monotonic() - began) * 1000)
        if answer.status >= 400:
            raise Unavailable("bench_failed", f"{question.path}: {answer.status} {text.decode()[:300]}")
        size = len(text)
    used = made.usage().since(before)
    processor = None if used.database is None else (used.python + used.database) / ROUNDS * 1000
    return AnswerTimes(question, took[1:], size, processor)


def _figures(view: PageView, answers: list[AnswerTimes], say: Say) -> dict[str, Any]:
    slowest = max(answers, key=lambda each: each.median)
    name = f"{view.page}: {view.name}" if view.name else view.page
    figures = {
        "view": name,
        "slowest": slowest.question.path,
        "query_ms": round(slowest.median, 1),
        "query_max_ms": round(max(max(each.took) for each in answers), 1),
        "total_ms": round(sum(each.median for each in answers), 1),
        "query_processor_ms": max(
            (round(each.processor, 1) for each in answers if each.processor is not None), default=None
        ),
        "bytes": sum(each.size for each in answers),
        "counts": view.counts,
    }
    say(
        f"{figures['query_ms']:8.1f} ms (max {figures['query_max_ms']:.1f}, all {figures['total_ms']:.1f}, "
        f"processor {figures['query_processor_ms']}), {figures['bytes']:,} bytes: {name}"
    )
    return figures
