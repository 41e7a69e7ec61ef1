"""A service that takes its time: it answers 202, works, and reports when it is done.

    sexton up                                   # in one terminal
    python examples/targets/http_async.py       # in another

It makes a job with an http target in the asynchronous mode, runs it once, and shows how the run went. Only
the standard library is used: any language can do the same.
"""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

SEXTON = os.environ.get("SEXTON_URL", "http://127.0.0.1:7390")


def call(method: str, path: str, body: Any = None, **headers: str) -> Any:
    """One call of Sexton's API."""
    data = None if body is None else json.dumps(body).encode()
    sent = {
        "Content-Type": "application/json",
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    with urlopen(Request(f"{SEXTON}/api/v1{path}", data, sent, method=method), timeout=30) as answer:
        return json.load(answer)


def work(run: str, token: str, payload: Any) -> None:
    """What takes long, in a thread of its own. All it needs is the run and its token."""
    for part in range(1, payload["parts"] + 1):
        time.sleep(0.1)
        told = {"fraction": part / payload["parts"], "text": f"part {part}"}
        call("POST", f"/runs/{run}/heartbeat", told, Sexton_Run_Token=token)
    result = {"result": {"parts": payload["parts"]}}
    call("POST", f"/runs/{run}/complete", result, Sexton_Run_Token=token)


class Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        run, token = self.headers["Sexton-Run-Id"], self.headers["Sexton-Run-Token"]
        threading.Thread(target=work, args=(run, token, payload)).start()
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_address[1]}/work"
        target = {"http": {"url": url, "mode": "async", "wait_seconds": 60}}
        job = {"name": "slow-service", "schedule": "@daily", "payload": {"parts": 5}, "target": target}
        call("PUT", "/jobs/by-name/slow-service", job)
        run = call("POST", "/jobs/slow-service/run")["run_id"]
        while (found := call("GET", f"/runs/{run}"))["status"] not in (
            "success",
            "dead",
            "cancelled",
            "expired",
        ):
            print(run, found["status"], found["progress"] or "")
            time.sleep(0.2)
        print(run, found["status"], found["result"])
        service.shutdown()


if __name__ == "__main__":
    main()
