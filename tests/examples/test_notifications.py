"""The examples of notifications do what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sexton.config import Settings
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.postgres.transaction import Context
from tests.cli.server import Server
from tests.waiting import PATIENCE

FOLDER = Path(__file__).parents[2] / "examples" / "notifications"
SAYS = {
    "reminder": "is pending, and goes at 2030-06-03T16:00:00Z",
    "digest": "comment-2 is in n_",
    "drip": "3 messages are planned\nstopped: onboarding",
    "campaign": "10 recipients, 0 of them cannot be reached\ndone: 10 sent",
}


@pytest.fixture
def server(database_url: str) -> Iterator[Server]:
    with Server(database_url, roles=("scheduler", "worker"), settings=Settings()) as running:
        nowhere = ProviderSpec(channel="email", kind="null")
        running.run(put_provider(Context(running.database, actor="tester"), "nowhere", nowhere))
        yield running


@pytest.mark.parametrize("name", SAYS)
def test_example(name: str, server: Server) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        env=os.environ | {"SEXTON_URL": server.url},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout


def test_every_example_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - {"ask"} == set(SAYS)
