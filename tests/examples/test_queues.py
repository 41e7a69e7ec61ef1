"""The examples of queues do what they say, each with its server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.servers.address import address
from tests.waiting import PATIENCE

FOLDER = Path(__file__).parents[2] / "examples" / "queues"
VARIABLES = {
    "redis": "SEXTON_TEST_REDIS_URL",
    "rabbitmq": "SEXTON_TEST_RABBITMQ_URL",
    "nats": "SEXTON_TEST_NATS_URL",
    "kafka": "SEXTON_TEST_KAFKA_URL",
    "sqs": "SEXTON_TEST_SQS_URL",
}


@pytest.mark.servers
@pytest.mark.parametrize("queue", VARIABLES)
def test_example(queue: str, database_url: str) -> None:
    url = address(VARIABLES[queue])
    if queue == "sqs":
        url = f"sqs://eu-central-1?endpoint=http://127.0.0.1:{urlsplit(url).port}"
    done = subprocess.run(
        [sys.executable, FOLDER / f"with_{queue}.py"],
        env=os.environ
        | {
            "SEXTON_QUEUE_URL": url,
            "SEXTON_DATABASE_URL": database_url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the queue has announced" in done.stdout


def test_every_queue_has_an_example() -> None:
    assert {path.stem.removeprefix("with_") for path in FOLDER.glob("with_*.py")} == set(VARIABLES)
