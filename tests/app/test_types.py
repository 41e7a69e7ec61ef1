"""What a type checker tells the users of the Python API: their right programs pass, their mistakes do not."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

# A line that is wrong ends with the code of its error.
PROGRAM = """
from datetime import UTC, datetime, timedelta

from sexton import Retry, Run, RunEvent, RunFailed, Sexton, parse

app = Sexton("postgresql://localhost/shop", name="shop")


@app.job("0 9 * * 1", timezone="America/New_York", gap="skip", overlap="QUEUE_ONE", missed_window=None)
async def report(run: Run, customer: str, days: int = 7) -> dict[str, int] | Retry:
    await run.progress(0.5)
    return {customer: days}


@app.job(timedelta(minutes=5), retry_backoff="linear", labels={"team": "billing"})
def poll(run: Run) -> None:
    run.log("polling")


class Pool:
    size: int = 5


app.provide(Pool, Pool)


@app.handler("count")
async def count(run: Run, pool: Pool) -> int:
    print(pool.sise)  # attr-defined
    return pool.size


@app.on("failed")
def tell(event: RunEvent, pool: Pool) -> None:
    if event.retry_seconds is None:
        print(event.eror)  # attr-defined


app.on("finished")(tell)  # arg-type
app.provide(Pool, Pool())  # arg-type
app.job(datetime(2030, 1, 1, tzinfo=UTC))(poll)
app.job(parse("@daily", timezone="Europe/Berlin"))(poll)
app.job("@daily", gap="afer")(poll)  # arg-type
app.job("@daily", overlap="skip")(poll)  # arg-type
app.job("@daily", retry_backoff="square")(poll)  # arg-type
app.job("@daily", max_retry=3)(poll)  # call-arg
app.job("@daily", max_retries="3")(poll)  # arg-type
app.job(5)(poll)  # arg-type
app.job("@daily")(5)  # type-var


async def main() -> None:
    job = await app.schedule(report, after=timedelta(minutes=5), payload={"customer": "c"}, priority=1)
    name: str = job.name
    number: int = job.name  # assignment
    await app.schedule(report, schedule=parse("@daily"), fold="both")
    await app.schedule(report, at=5)  # arg-type
    await app.list(status="activ")  # arg-type
    for each in await app.list(status="active"):
        await app.pause(each.job_id, until=datetime(2030, 1, 1, tzinfo=UTC))
    await app.pause_many(label="team=billing", reason="moves")
    await app.delete_many(status="deleted")  # arg-type
    print((await app.run_many(name="bulk-*")).run_idz)  # attr-defined
    try:
        print(name, number, await app.result(await app.run_now(report), timeout=5))
    except RunFailed:
        pass


def view() -> str:
    app.sync.schedule(report, at="2030-01-01T00:00Z", overlap="skip")  # arg-type
    app.sync.list(status="activ")  # arg-type
    app.sync.schedule_many(report, [{"at": "2030-01-01T00:00Z"}])
    job = app.sync.edit(app.sync.schedule(report, at="2030-01-01T00:00Z").job_id, priority=1)
    return job.priority  # return-value
"""


def test_mypy_passes_what_is_right_and_tells_what_is_wrong(tmp_path: Path) -> None:
    module = tmp_path / "shop.py"
    module.write_text(PROGRAM, "utf-8")
    options = [
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    # No configuration of this repository: a user has none.
    out, wrong, _ = api.run([*options, "--config-file=", str(module)])
    assert wrong == ""
    found = re.findall(r"shop\.py:(\d+): error: .*\[([a-z-]+)\]$", out, re.MULTILINE)
    wanted = [
        (str(number), line.rpartition("  # ")[2])
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "  # " in line
    ]
    assert found == wanted, out
