"""A worker over HTTP, with nothing but the standard library: a pattern for other languages.

    SEXTON_URL=http://127.0.0.1:7390 SEXTON_API_KEY=sxn_… python http_worker.py

It carries out runs of jobs with the target {"handler": "greet"}. The key needs the role `worker` and no other;
on the machine of the server, for the user who runs it, none is needed. TERM and Ctrl-C let it finish and leave.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

URL = os.environ.get("SEXTON_URL", "http://127.0.0.1:7390") + "/api/v1"
KEY = os.environ.get("SEXTON_API_KEY")
CAPACITY = 4

stopping = threading.Event()


def greet(run: dict[str, Any]) -> Any:
    """What is to be done. `run["idempotency_key"]` is the same for every attempt."""
    return f"hello {run['payload']['name']}"


HANDLERS = {"greet": greet}


class Refused(Exception):
    """An answer that is none: `code` says why."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('code')}: {problem.get('detail')}")
        self.status = status
        self.code = problem.get("code")


def ask(method: str, path: str, body: Any = None) -> Any:
    """Send a request until there is an answer: all that a worker sends may be sent again."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {KEY}"} if KEY else {})}
    data = None if body is None else json.dumps(body).encode()
    while True:
        request = urllib.request.Request(URL + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise Refused(error.code, json.load(error)) from error
            pause = float(error.headers.get("Retry-After", "1"))
        except OSError:
            pause = 1.0
        time.sleep(pause)


class Worker:
    """Joins, claims, beats and reports; a worker that was taken for dead joins again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: dict[str, dict[str, Any]] = {}
        self.join()

    def join(self) -> None:
        wish = {"name": socket.gethostname(), "handlers": list(HANDLERS), "capacity": CAPACITY}
        joined = ask("POST", "/workers", wish)
        self.id, self.beat_seconds = joined["worker_id"], joined["beat_seconds"]
        with self.lock:
            self.runs.clear()  # what it had is not its own any more

    def claim(self) -> list[dict[str, Any]]:
        with self.lock:
            room = CAPACITY - len(self.runs)
        if not room:
            time.sleep(0.1)
            return []
        try:
            runs: list[dict[str, Any]] = ask(
                "POST", f"/workers/{self.id}/claims", {"limit": room, "wait_seconds": 10}
            )["runs"]
        except Refused as refused:
            if refused.code not in ("worker_lost", "worker_not_found"):
                raise
            self.join()
            return []
        with self.lock:
            self.runs.update({run["token"]: run for run in runs})
        return runs

    def carry_out(self, run: dict[str, Any]) -> None:
        try:
            said = {"outcome": "success", "result": HANDLERS[run["handler"]](run)}
        except Exception as error:
            said = {"outcome": "failure", "error": f"{type(error).__name__}: {error}"}
        with self.lock:
            held = self.runs.pop(run["token"], None)
        if held is not None:  # else it was lost: others carry it out
            report = {"run_id": run["run_id"], "token": run["token"], **said}
            [verdict] = ask("POST", "/workers/reports", {"reports": [report]})["reports"]
            print(run["run_id"], verdict.get("status") or verdict["detail"], flush=True)

    def beat(self) -> None:
        """In a thread of its own: a run that takes long must not keep it from beating."""
        while not stopping.wait(self.beat_seconds):
            with self.lock:
                runs = list(self.runs.values())
            try:
                told = ask("POST", f"/workers/{self.id}/beats", {"runs": [run["run_id"] for run in runs]})
            except Refused:
                continue  # the next claim finds out, and joins again
            with self.lock:
                for run in runs:
                    if run["run_id"] in told["lost"]:
                        self.runs.pop(run["token"], None)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    worker = Worker()
    threading.Thread(target=worker.beat, daemon=True).start()
    print(f"{worker.id} waits for runs", flush=True)
    with ThreadPoolExecutor(CAPACITY) as pool:
        while not stopping.is_set():
            for run in worker.claim():
                pool.submit(worker.carry_out, run)
    ask("DELETE", f"/workers/{worker.id}")
    print(f"{worker.id} has left", flush=True)


if __name__ == "__main__":
    main()
