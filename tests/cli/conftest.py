"""Running the command: in this process, quickly, or as its users do."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from sexton import cli
from sexton.cli.client import Client
from tests.cli.server import Server

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Sexton(Protocol):
    def __call__(self, *arguments: str, stdin: str = "") -> Result: ...


@pytest.fixture
def sexton(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sexton:
    """Run `sexton` with these arguments inside this process."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = cli.run(list(arguments))
        sys.stdout.flush()
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set what the clock says: `at(moment)`."""

    def set_now(moment: datetime) -> None:
        monkeypatch.setattr("sexton.clock.now", lambda: moment)

    return set_now


@pytest.fixture
def server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the commands of the test talk to."""
    with Server(database_url) as running:
        monkeypatch.setenv("SEXTON_URL", running.url)
        yield running


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Calls go through two jobs or runs each; they are kept, with their keys."""
    sent: list[dict[str, Any]] = []
    request = Client.request

    def two(self: Client, method: str, path: str, body: Any = None, **more: Any) -> Any:
        if path.endswith("/actions") and not body.get("dry_run"):
            body = {**body, "limit": 2}
            sent.append({**body, "key": (more.get("headers") or {}).get("Idempotency-Key")})
        return request(self, method, path, body, **more)

    monkeypatch.setattr(Client, "request", two)
    return sent
