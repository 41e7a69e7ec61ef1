"""What the examples beside this one share: a job that runs every second, and comes to its worker by a queue."""

from __future__ import annotations

import asyncio
import os

from sexton import Sexton

RUNS = 5


def main(queue_url: str) -> None:
    """`SEXTON_QUEUE_URL` names another queue, `SEXTON_DATABASE_URL` a PostgreSQL instead of a private one."""
    asyncio.run(beat(os.environ.get("SEXTON_QUEUE_URL", queue_url)))


async def beat(queue_url: str) -> None:
    app = Sexton(name="heartbeats", queue_url=queue_url)
    heard: asyncio.Queue[None] = asyncio.Queue()

    @app.job("every 1s")
    async def heartbeat(run):
        print(f"{run.scheduled_at:%H:%M:%S} {run.run_id}", flush=True)
        await heard.put(None)

    async with app.running():
        told = 0.0
        # The first may be found without the queue, while it is being reached.
        while told < RUNS:
            await heard.get()
            told = app.metrics.get_sample_value("sexton_rings_received_total") or 0.0
    print(f"the queue has announced {told:.0f} runs")
