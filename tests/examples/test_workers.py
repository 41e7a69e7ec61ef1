"""The worker over HTTP of the examples serves runs with a key of its role, and leaves when told to."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.waiting import PATIENCE, until

EXAMPLE = Path(__file__).parents[2] / "examples" / "workers" / "http_worker.py"


async def test_a_worker_of_the_standard_library_serves_runs(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        key = (await make_key(api, "worker"))["Authorization"].removeprefix("Bearer ")
        runs = []
        for name, payload in (("good", {"name": "ada"}), ("bad", {})):
            spec = {
                "name": name, "schedule": "@daily", "target": {"handler": "greet"}, "payload": payload,
                "max_retries": 0,
            }  # fmt: skip
            assert (await api("POST", "/jobs", spec, headers=ADMIN)).status == 201
            runs.append((await api("POST", f"/jobs/{name}/run", headers=ADMIN)).json()["run_id"])
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-s", str(EXAMPLE),
            env={**os.environ, "SEXTON_URL": api.base, "SEXTON_API_KEY": key},
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:

            async def ended() -> bool:
                found = [(await api("GET", f"/runs/{run}", headers=ADMIN)).json() for run in runs]
                return [each["status"] for each in found] == ["success", "dead"]

            await until(ended)
            good, bad = [(await api("GET", f"/runs/{run}", headers=ADMIN)).json() for run in runs]
            assert (good["result"], bad["error"]) == ("hello ada", "KeyError: 'name'")
            process.terminate()
            said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
    assert process.returncode == 0
    assert said.decode().rstrip().endswith("has left")
