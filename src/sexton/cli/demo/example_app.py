"""The application of `sexton demo`: handlers that work, log, and sometimes fail."""

from __future__ import annotations

import random
from typing import Any

from sexton import clock
from sexton.app import Sexton
from sexton.targets.face import Run

app = Sexton(name="demo")


@app.handler("work")
async def work(run: Run) -> dict[str, Any]:
    """Takes about as long as its payload says."""
    given = run.payload if isinstance(run.payload, dict) else {}
    items = int(given.get("items", 20))
    await run.log(f"{items} items to do")
    seconds = float(given.get("seconds", 0.4)) * random.lognormvariate(0, 0.4)
    for step in range(1, 5):
        await clock.sleep(seconds / 4)
        await run.progress(step / 4, f"{items * step // 4} of {items}")
    return {"items": items, "attempt": run.attempt}


@app.handler("flaky")
async def flaky(run: Run) -> dict[str, Any]:
    """Fails one time in four."""
    await clock.sleep(random.uniform(0.1, 0.6))
    if random.random() < 0.25:
        await run.log("the other side hangs up", "warning")
        raise ConnectionError("the connection was closed before the answer came")
    return {"ok": True}


@app.handler("unreachable")
async def unreachable(run: Run) -> None:
    """Always fails, to make dead letters."""
    await run.log("connecting to ledger.internal:8443")
    await clock.sleep(0.2)
    raise ConnectionError("ledger.internal:8443 refused the connection")
