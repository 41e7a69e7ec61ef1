"""One node of a cluster: its process, what can be done to it, and what it answers."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import Protocol

from tests.faults.proxy import Proxy
from tests.waiting import PATIENCE


class Process(Protocol):
    """What a member's process shows of itself, whether it was started or forked."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def send_signal(self, signal: int, /) -> None: ...

    async def wait(self) -> int: ...


class Member:
    """One node: a process, a proxy for each server that its address names, and its log."""

    def __init__(self, process: Process, roles: str, proxies: list[Proxy], log: Path, port: int) -> None:
        self.process = process
        self.roles = roles
        self.proxies = proxies
        self.log = log
        self.port = port

    def __repr__(self) -> str:
        return f"{self.roles} {self.process.pid}"

    @property
    def proxy(self) -> Proxy:
        """That of the first server."""
        return self.proxies[0]

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.process.wait()

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    async def terminate(self, seconds: float = 60) -> int:
        """Ask it to leave; its exit code."""
        self.signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), seconds)

    def said(self, text: str) -> bool:
        return text in self.log.read_text("utf-8", "replace")

    async def readiness(self) -> int | None:
        """The status of its /readyz; None while it does not answer."""
        url = f"http://127.0.0.1:{self.port}/readyz"
        try:
            with await asyncio.to_thread(urllib.request.urlopen, url, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    async def request(self, method: str, path: str, body: object = None) -> tuple[int, Mapping[str, str]]:
        """Ask its api; the status and the headers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)

        def ask() -> tuple[int, Mapping[str, str]]:
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                    return answer.status, _titled(answer.headers)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, _titled(error.headers)

        return await asyncio.to_thread(ask)

    async def metric(self, name: str) -> float:
        """From its /metrics."""
        url = f"http://127.0.0.1:{self.port}/metrics"
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read().decode())
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.split()[:1] == [name])


def _titled(headers: Message) -> dict[str, str]:
    return {name.title(): value for name, value in headers.items()}
