"""Every operation of the OpenAPI document keeps to it, whatever it is sent: thousands of requests.

They are made by Schemathesis. No answer is a 5xx, has a status, a type or a shape that the document does not
name, or takes longer than ten seconds. One seed is fixed; the other is new in each run, and printed:
`SEXTON_TEST_SEED` repeats it.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from pathlib import Path

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import serve
from tests.servers.address import address

pytestmark = pytest.mark.servers

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
KEY = "a-key-of-the-configuration"
SETTINGS = Settings(api_keys=KEY, api_rate=0)


@pytest.mark.parametrize(
    ("phases", "examples", "fewest", "seed"),
    [
        pytest.param("examples,coverage,fuzzing", 3, 3000, 1, id="fixed"),
        pytest.param(
            "fuzzing",
            10,
            400,
            int(os.environ.get("SEXTON_TEST_SEED") or random.randrange(2**31)),
            id="random",
        ),
    ],
)
async def test_every_operation_keeps_to_the_document(
    database: Database, tmp_path: Path, phases: str, examples: int, fewest: int, seed: int
) -> None:
    packages = address("SEXTON_TEST_SCHEMATHESIS")
    async with serve(database, SETTINGS) as api:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "schemathesis.cli", "run", f"{api.base}/openapi.json",
            "--header", f"Authorization: Bearer {KEY}", "--phases", phases, "--checks", ",".join(CHECKS),
            "--max-examples", str(examples), "--seed", str(seed), "--request-timeout", "10",
            "--suppress-health-check", "all", "--continue-on-failure", "--no-color",
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": packages,
                "SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("schemathesis_hooks.py")),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, f"SEXTON_TEST_SEED={seed}\n{printed[-20_000:]}"
    made = re.search(r"([\d,]+) generated", printed)
    assert made is not None, printed
    assert int(made[1].replace(",", "")) >= fewest, printed
