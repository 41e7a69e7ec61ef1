"""What lies in examples/content works."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from sexton.content.bulk import CsvReader, create_many
from sexton.postgres.transaction import Context
from sexton.testing import Engine

EXAMPLES = Path(__file__).parents[3] / "examples" / "content"


async def test_the_program_plans_a_launch(database_url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        str(EXAMPLES / "plan.py"),
        env={**os.environ, "SEXTON_DATABASE_URL": database_url, "PYTHONIOENCODING": "utf-8"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    lines = out.decode().splitlines()
    assert lines[0] == "2099-03-14 09:00 CET (Europe/Berlin)  publish post/42  pending"
    assert [line.split("  ")[1] for line in lines[1:]] == ["publish banner/7", "unpublish banner/7"] * 3


async def test_the_files_can_be_imported(context: Context, engine: Engine) -> None:
    heading, *rows = (EXAMPLES / "plans.csv").read_bytes().splitlines()
    reader = CsvReader(heading)
    assert len(await create_many(context, [reader.read(row) for row in rows])) == 3
    lines = (EXAMPLES / "plans.jsonl").read_bytes().splitlines()
    assert len(await create_many(context, lines)) == 2
