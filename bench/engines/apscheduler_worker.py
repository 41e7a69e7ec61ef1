# Runs in an environment of its own, which has what it imports.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, misc"
"""APScheduler 3: recurring jobs in an SQLAlchemyJobStore, run by a pool of 20 threads, as in its user guide.

Jobs later than misfire_grace_time (a second by default) would be dropped, so it is lifted.

Usage: apscheduler_worker.py enqueue|work DATABASE_URL [JOBS SECONDS]
"""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime, timedelta

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

THREADS = 20


def noop() -> None:
    pass


def make(url: str) -> BackgroundScheduler:
    return BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=url.replace("postgresql://", "postgresql+psycopg2://"))},
        executors={"default": ThreadPoolExecutor(THREADS)},
        job_defaults={"misfire_grace_time": None, "coalesce": True},
        timezone=UTC,
    )


def enqueue(url: str, jobs: int, seconds: float) -> None:
    due = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    scheduler = make(url)
    scheduler.start(paused=True)
    trigger = CronTrigger(hour=due.hour, minute=due.minute, second=due.second, timezone=UTC)
    for _ in range(jobs):
        scheduler.add_job("apscheduler_worker:noop", trigger)
    scheduler.shutdown()
    print(due.timestamp(), flush=True)


def work(url: str, jobs: int) -> None:
    """Says when the last of the jobs was done: the store keeps no record of runs."""
    left, done = jobs, threading.Event()

    def count(event: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    scheduler = make(url)
    scheduler.add_listener(count, EVENT_JOB_EXECUTED)
    scheduler.start()
    print("ready", flush=True)
    done.wait()
    print(datetime.now(UTC).timestamp(), flush=True)
    scheduler.shutdown()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["enqueue", url, jobs, seconds]:
            enqueue(url, int(jobs), float(seconds))
        case ["work", url, jobs]:
            work(url, int(jobs))
