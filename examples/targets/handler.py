"""A handler: a function of yours that a worker calls. `python handler.py` runs a job of it once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from sexton import Sexton

app = Sexton(name="greetings")


@app.handler("greet")
async def greet(run):
    await run.log(f"attempt {run.attempt}")
    return {"hello": run.payload["name"]}


async def main() -> None:
    async with app.running():
        soon = datetime.now(UTC) + timedelta(seconds=1)
        job = await app.schedule(greet, at=soon, payload={"name": "world"})
        while (await app.get(job.job_id)).last_outcome is None:
            await asyncio.sleep(0.1)
        (run,) = await app.history(job.job_id)
        print(run.status, run.result)


if __name__ == "__main__":
    asyncio.run(main())
