"""Commands that are made from routes: what they take, and what they send."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from cyclopts import App, Parameter
from msgspec import Meta

from sexton.api.route import Query, Route
from sexton.cli import command as module
from sexton.cli.command import Ask, command
from sexton.errors import InvalidField
from sexton.security.role import Role


class Filter(Query, frozen=True, kw_only=True):
    name: Annotated[str | None, Meta(description="Only this `name`.")] = None
    cursor: Annotated[str | None, Meta(description="Where to go on.")] = None


class Request(msgspec.Struct, kw_only=True):
    wait: Annotated[Annotated[int, Meta(ge=0, le=9)] | None, Meta(description="Seconds.")] = None
    share: Annotated[float, Meta(description="How much.")] = 0.5
    how: Annotated[Literal["fast", "slow"], Meta(description="In which way.")] = "fast"
    only: Annotated[Literal["new"] | None, Meta(description="New ones only.")] = None
    force: Annotated[bool, Meta(description="At once.")] = False
    days: Annotated[list[str], Meta(description="On these.")] = []
    labels: Annotated[dict[str, str], Meta(description="For people.")] = {}
    payload: Annotated[Any, Meta(description="What to send.")] = None
    at: Annotated[datetime, Meta(description="When.")]


ROUTE = Route(
    "POST", "/things/{job}/go", "things", "Let a thing go", Role.OPERATOR, query=Filter, body=Request
)


class Server:
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask(self, route: Route, *path: str, **given: Any) -> Any:
        self.asked.append((route.method, *path, given))
        return {"done": True}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(module, "connect", lambda: server)
    return server


@pytest.fixture
def app() -> App:
    @command(ROUTE, names={"labels": "--label"})
    def go(ask: Ask, *, twice: Annotated[bool, Parameter(help="Ask again.")] = False) -> int:
        """Let a thing go."""
        assert ask() == ask() if twice else ask()
        return 0

    app = App()
    app.default(go)
    return app


def call(app: App, *words: str) -> None:
    app([*words, "--at", "2026-06-01T00:00:00Z"], exit_on_error=False, result_action="return_value")


def test_what_is_typed_is_sent_by_the_names_of_the_fields(app: App, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps({"n": 1}))
    call(
        app, "a", "--wait", "0", "--share", "0.25", "--how", "slow", "--only", "--force", "--days", "mon",
        "--days", "tue", "--label", "team=billing", "--payload", f"@{file}", "--name", "x",
    )  # fmt: skip
    assert server.asked == [
        (
            "POST",
            "a",
            {
                "name": "x", "wait": 0, "share": 0.25, "how": "slow", "only": "new", "force": True,
                "days": ["mon", "tue"], "labels": {"team": "billing"}, "payload": {"n": 1},
                "at": "2026-06-01T00:00:00Z",
            },
        )
    ]  # fmt: skip


def test_what_is_not_typed_is_not_sent(app: App, server: Server) -> None:
    call(app, "a", "--twice")
    assert server.asked == [("POST", "a", {"at": "2026-06-01T00:00:00Z"})] * 2


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--payload", "{"), "--payload is not JSON"),
        (("--payload", "@/nowhere"), "/nowhere cannot be read"),
        (("--label", "x"), "--label is 'x'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_option(app: App, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(InvalidField, match=told):
        call(app, "a", *words)


def test_the_help_has_the_meaning_and_the_default(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    app(["--help"], exit_on_error=False, result_action="return_value")
    shown = capsys.readouterr().out
    for words in ("Only this name.", "How much. Default: 0.5.", "In which way. Default: fast.", "Ask again."):
        assert words in shown
    assert "When. An instant, or -2h or +2h from now." in shown
    assert "cursor" not in shown
