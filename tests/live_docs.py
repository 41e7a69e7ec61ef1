"""Pages of the documentation that need a running Sexton: their blocks are run in order against a real one.

What differs from run to run (ids, times, durations, workers) is compared by shape; `…` stands for anything.
An id that was shown by one block can be used by the next: it means what it meant there.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from sexton import clock
from sexton.cli.client import Client
from tests.waiting import PATIENCE

DOCUMENTED = "http://127.0.0.1:7390"

TIME = r"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)"
DURATION = r"\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b(?: \d+ (?:s|min|h))?"
WORKER = r"[\w.-]+:\d+:[0-9a-f]{6}\b"
ID = r"\b(?:[cfjknr]|ns)_[0-9a-hjkmnp-tv-z]+\b"
PUNCTUAL = rf"fired (?:on time|late by {DURATION})"
PATTERNS = {
    "any": ".*?",
    "punctual": PUNCTUAL,
    "time": TIME,
    "worker": WORKER,
    "duration": DURATION,
    "space": r"[ \t]+",
}
SHAPES = re.compile(
    "|".join(f"(?P<{kind}>{shape})" for kind, shape in {**PATTERNS, "any": "…", "id": ID}.items())
)


class Mismatch(AssertionError):
    """What was shown is not what came."""


class Server:
    """`sexton up` in a directory of its own, with the files that the pages show."""

    def __init__(
        self, directory: Path, process: subprocess.Popen[str], url: str, programs: Path | None
    ) -> None:
        self.directory = directory
        self.process = process
        self.url = url
        self.client = Client(url)
        places = [*filter(None, [programs]), Path(sys.executable).parent, directory / "bin"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")},
            "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            "SEXTON_URL": url,
            "SEXTON_DATA": str(directory / "data"),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTHONIOENCODING": "utf-8",
        }

    def run(self, command: str) -> str:
        """What it answers; what it tells beside that (the standard error) only if it has failed."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        return done.stdout + done.stderr if done.returncode else done.stdout

    def run_program(self, text: str) -> None:
        """A page's code beside its files, as a program of its own."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", text],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        if done.returncode:
            raise Mismatch(f"{text}\n{done.stdout}{done.stderr}")

    def ask(self, method: str, path: str, headers: dict[str, str], body: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        try:
            connection.request(method, path, body.encode() or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def empty(self) -> None:
        """A page finds only what the application of the pages declares."""
        for job in list(self.client.pages("/jobs")):
            if job["app"] is None and job["status"] != "deleted":
                self.client.delete(f"/jobs/{job['job_id']}", cancel_running=True)
        self.client.post("/dead/discard", {"all": True})


@contextmanager
def running_server(
    directory: Path,
    files: dict[str, str],
    app: str | None,
    program: Sequence[str] = ("-m", "sexton"),
    programs: Path | None = None,
) -> Iterator[Server]:
    """`sexton up` with an application; `program` is what to give to Python instead of the command. Commands
    are looked for in `programs` first."""
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    if shutil.which("curl") is None:
        _make_curl(directory / "bin")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, *program, "up", "--data", str(directory / "data"), "--port", str(port)]
    command += ["--workers", "1"] if app is None else ["--workers", "1", "--app", app]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")}
    with (directory / "up.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
    server = None
    try:
        assert process.stdout is not None
        server = Server(directory, process, _address(process.stdout), programs)
        _until_led(server)
        yield server
    finally:
        if server is not None:
            server.client.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (directory / "up.log").read_text()


def _until_led(server: Server) -> None:
    """The pages show a cluster that has taken all its shards."""
    end = clock.monotonic() + PATIENCE
    while (found := server.client.get("/cluster"))["shards_led"] < found["shards"]:
        assert clock.monotonic() < end, found
        clock.block(0.1)


def _address(output: IO[str]) -> str:
    said = ""
    for line in output:
        said += line
        if match := re.match(r"Sexton is up: (\S+)", line):
            return match[1]
    raise AssertionError(said)


class Session:
    """One page: what its blocks have shown so far."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.ids: dict[str, str] = {}

    def run_command(self, command: str, shown: str) -> None:
        came = self.server.run(self._meant(command)).replace(self.server.url, DOCUMENTED)
        if not self.agree(_cut(shown), _cut(came)):
            raise Mismatch(f"$ {command}\nshown:\n{shown}\ncame:\n{came}")

    def run_request(self, text: str) -> None:
        """`METHOD path`, headers, an empty line, a body; `→ status`, and what the answer contains."""
        asked, _, answered = text.partition("→")
        head, _, body = asked.partition("\n\n")
        first, *lines = head.strip().splitlines()
        method, path = self._meant(first).split(" ", 1)
        headers = dict(line.split(": ", 1) for line in lines)
        body = self._meant(body.strip())
        if body and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        status, content = self.server.ask(method, path, headers, body)
        wanted, _, sketch = answered.strip().partition("\n")
        if str(status) != wanted.split()[0] or (sketch.strip() and not self._within(sketch, content)):
            raise Mismatch(f"{text}\ncame:\n{status} {content}")

    def agree(self, shown: str, came: str) -> bool:
        """Whether the two are alike; learns what the ids of the page stand for."""
        pattern, ids, end = "", [], 0
        for match in SHAPES.finditer(shown):
            pattern += re.escape(shown[end : match.start()])
            end = match.end()
            kind = match.lastgroup or ""
            if kind == "id":
                pattern += f"({match[0].partition('_')[0]}_[0-9a-z]+)"
                ids.append(match[0])
            else:
                pattern += PATTERNS[kind]
        found = re.fullmatch(pattern + re.escape(shown[end:]), came, re.DOTALL)
        if found is None:
            return False
        self.ids.update(zip(ids, found.groups(), strict=True))
        return True

    def _within(self, sketch: str, content: str) -> bool:
        return self._contains(json.loads(content), json.loads(sketch.strip()))

    def _contains(self, came: Any, shown: Any) -> bool:
        match shown:
            case dict():
                return isinstance(came, dict) and all(
                    name in came and self._contains(came[name], value) for name, value in shown.items()
                )
            case list():
                return isinstance(came, list) and all(
                    self._contains(one, other) for one, other in zip(came, shown, strict=False)
                )
            case str():
                return isinstance(came, str) and self.agree(shown, came)
            case float():
                return isinstance(came, float)
            case _:
                return bool(came == shown)

    def _meant(self, text: str) -> str:
        text = re.sub(ID, lambda match: self.ids.get(match[0], match[0]), text)
        return text.replace(DOCUMENTED, self.server.url)


def _cut(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def _make_curl(directory: Path) -> None:
    """The few options of curl that the pages use, for machines without it."""
    directory.mkdir()
    program = directory / "curl"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, urllib.request\n"
        "words = [word for word in sys.argv[1:] if word != '-s']\n"
        "body = words.pop(words.index('--json') + 1) if '--json' in words else None\n"
        "url = next(word for word in words if word.startswith('http'))\n"
        "data = body.encode() if body is not None else None\n"
        "request = urllib.request.Request(url, data, {'Content-Type': 'application/json'})\n"
        "sys.stdout.write(urllib.request.urlopen(request).read().decode())\n"
    )
    program.chmod(0o755)
