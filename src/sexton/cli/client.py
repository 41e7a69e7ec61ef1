"""A thin client of the HTTP API: what the command line uses, and other programs may.

    client = Client()                                   # SEXTON_URL, or the one running on this machine
    job = client.post("/jobs", {"name": "hello", "schedule": "every 10s"})
    for run in client.pages("/runs", status="dead"): …
    client.ask(routes.PAUSE_JOB, "hello", reason="…")   # by the table of routes

Errors of the API are raised as the same exceptions (`sexton.errors`), with code, field and hint. It uses only
the standard library, so that the command line starts fast.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlencode

from sexton import __version__
from sexton.connections.address import http_parts
from sexton.errors import Conflict, InvalidField, NotFound, ScheduleError, SextonError, Unavailable

if TYPE_CHECKING:
    from sexton.api.route import Route

PREFIX = "/api/v1"
DEFAULT_URL = "http://127.0.0.1:7390"
NOTE = "up.json"
TRIES = 3
# The code of an answer that is no problem of the API: it comes from another program.
NO_PROBLEM = "bad_answer"
# Characters that stay as they are in a percent-encoded header.
PLAIN = " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"

Body = Any
Reply = tuple[int, Mapping[str, str], bytes]


class Client:
    """One server. Calls wait for their answer; the connection stays open between them."""

    def __init__(self, url: str | None = None, *, key: str | None = None, timeout: float = 30) -> None:
        given = url or os.environ.get("SEXTON_URL")
        self.url = (given or find_own_url()).rstrip("/")
        self._found = not given
        self._key = key or os.environ.get("SEXTON_API_KEY") or (None if given else read_token())
        self._namespace = os.environ.get("SEXTON_NAMESPACE")
        self._timeout = timeout
        #: The reason for changes, for the audit.
        self.reason: str | None = None
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, route: Route, *path: str, **given: Any) -> Any:
        """The answer of a route; `path` are the parameters of its path, in order."""
        named = () if route.query is None else route.query.__struct_fields__
        query = {name: value for name, value in given.items() if name in named}
        body = {name: value for name, value in given.items() if name not in named}
        sent = None if route.body is None else body
        return self.request(route.method, path_of(route, *path), sent, query=query)[0]

    def get(self, path: str, **query: Any) -> Any:
        return self.request("GET", path, query=query)[0]

    def post(self, path: str, body: Body = None, **query: Any) -> Any:
        """Sent with its own Idempotency-Key, so that the request can be repeated if the answer is lost."""
        return self.request("POST", path, body, query=query)[0]

    def put(self, path: str, body: Body) -> Any:
        return self.request("PUT", path, body)[0]

    def patch(self, path: str, body: Body, *, revision: int | None = None) -> Any:
        """`revision`: refuse if the job has been edited since."""
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        return self.request("PATCH", path, body, headers=headers)[0]

    def delete(self, path: str, **query: Any) -> None:
        self.request("DELETE", path, query=query)

    def pages(self, path: str, *, most: int | None = None, **query: Any) -> Iterator[Any]:
        """The items of a list, page after page, at most `most`."""
        size = min(most or 1000, 1000)
        target: str | None = _target(path, {**query, "limit": query.get("limit", size)})
        count = 0
        while target is not None:
            items, headers = self.request("GET", target)
            for item in items:
                if most is not None and count >= most:
                    return
                yield item
                count += 1
            match = re.match(r'<([^>]+)>; rel="next"', headers.get("link", ""))
            target = match[1] if match else None

    def parts(self, path: str, **query: Any) -> Iterator[bytes]:
        """The body of an answer, as it arrives."""
        connection = self._connect()
        try:
            connection.request("GET", _target(path, query), headers=self._headers())
            response = connection.getresponse()
            if response.status >= 400:
                answer = _decoded(response.getheader("content-type"), response.read())
                raise self._refused(response.status, answer)
            while part := response.read1(65_536):
                yield part
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def bulk(self, lines: Iterable[bytes], *, key: str | None = None) -> Any:
        """Make many jobs, one JSON object per line; refused lines are in `errors` of the answer. With a key
        it can be repeated after a failure."""
        headers = {"Content-Type": "application/x-ndjson"}
        if key is not None:
            headers["Idempotency-Key"] = key
        body = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
        return self.request("POST", "/jobs/bulk", body, headers=headers, accept=(422,))[0]

    def request(
        self,
        method: str,
        path: str,
        body: Body = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (),
    ) -> tuple[Any, Mapping[str, str]]:
        """The decoded answer and its headers. Raises the error of the API, except for statuses to accept."""
        sent = {**self._headers(), "Accept": "application/json", **(headers or {})}
        if self.reason and method != "GET":
            sent["Sexton-Reason"] = quote(self.reason, safe=PLAIN)
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        if method == "POST" and not path.endswith("/bulk"):
            sent.setdefault("Idempotency-Key", str(uuid.uuid4()))
        status, received, content = self._send(method, _target(path, query or {}), data, sent)
        answer = _decoded(received.get("content-type"), content)
        if status >= 400 and status not in accept:
            raise self._refused(status, answer)
        return answer, received

    def _headers(self) -> dict[str, str]:
        sent = {"User-Agent": f"sexton/{__version__}"}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        if self._namespace:
            sent["Sexton-Namespace"] = self._namespace
        return sent

    def _send(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> Reply:
        """Send; if the server has closed the open connection, send again what is safe to repeat."""
        safe = method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in headers
        for attempt in range(TRIES):
            fresh = self._connection is None
            try:
                connection = self._connection = self._connection or self._connect()
                connection.request(method, target, body=data, headers=dict(headers))
                response = connection.getresponse()
                content = response.read()
                received = {name.lower(): value for name, value in response.getheaders()}
                return response.status, received, content
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ConnectionRefusedError | TimeoutError) or fresh or not safe:
                    raise self._unreachable(error) from error
                if attempt == TRIES - 1:
                    raise self._unreachable(error) from error
        raise AssertionError("unreachable")

    def _connect(self) -> http.client.HTTPConnection:
        parts = _parts(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self._timeout)

    def _refused(self, status: int, answer: Any) -> SextonError:
        error = error_of(status, answer)
        if error.code == NO_PROBLEM and status < 500:  # those come from proxies before it
            error.hint = f"{self.url} may not be Sexton: set SEXTON_URL to the address that sexton up printed"
        return error

    def _unreachable(self, error: Exception) -> Unavailable:
        if isinstance(error, TimeoutError):
            return Unavailable("no_answer", f"{self.url} did not answer in time", hint="sexton status")
        from sexton.postgres.server import PrivateServer

        data = _data_directory()
        if self._found and PrivateServer(data).running():
            return Unavailable(
                "no_api",
                f"an application runs on {data} without an api, which this command needs",
                hint="start an api and try again: sexton up --roles api",
            )
        return Unavailable(
            "not_running",
            f"nothing answers at {self.url} ({error})",
            hint="start it with: sexton up    or set SEXTON_URL to where it runs\n"
            "an application with a database_url of its own: sexton up --roles api --database-url …",
        )


def find_url() -> str:
    """SEXTON_URL; else the address that `sexton up` wrote into this user's data directory; else the
    default."""
    if url := os.environ.get("SEXTON_URL"):
        return url
    try:
        return str(json.loads((_data_directory() / NOTE).read_text("utf-8"))["address"] or DEFAULT_URL)
    except (OSError, ValueError, KeyError, TypeError):
        return DEFAULT_URL


def _parts(url: str) -> SplitResult:
    parts = http_parts(url)
    if parts is None:
        raise InvalidField(
            "bad_url", f"{url} is not an http address", field="SEXTON_URL", hint=f"such as {DEFAULT_URL}"
        )
    return parts


def find_own_url() -> str:
    """As `find_url`, but never the server of another user: it would get this user's keys and jobs."""
    from sexton.security.peer import user_listening

    url = find_url()
    parts = _parts(url)
    user = user_listening(parts.hostname or "", parts.port or 80)
    if user is not None and user != os.geteuid():
        raise Unavailable(
            "other_user",
            f"the server at {url} is run by {_name_of(user)}, not by you",
            hint="start your own with: sexton up    or, with a key of that one:"
            f" SEXTON_URL={url} SEXTON_API_KEY=…",
        )
    return url


def read_token() -> str | None:
    """The token of this user's server, on systems that do not tell which user made a connection."""
    directory = _data_directory()
    file = directory.with_name(directory.name + ".token")
    try:
        return file.read_text("ascii").strip() if file.stat().st_uid == os.geteuid() else None
    except OSError:
        return None


def _data_directory() -> Path:
    from sexton.postgres.server import default_data_directory

    return Path(os.environ.get("SEXTON_DATA") or default_data_directory()).expanduser()


def _name_of(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def path_of(route: Route, *path: str) -> str:
    """The path of a route with these parameters."""
    parts = iter(path)
    return re.sub(r"\{\w+\}", lambda _: quote(next(parts), safe=""), route.template)


def error_of(status: int, answer: Any) -> SextonError:
    """The exception for an error of the API."""
    problem = answer if isinstance(answer, dict) else {}
    code = problem.get("code", NO_PROBLEM)
    message = problem.get("detail", f"the server answered with status {status}")
    hint = problem.get("hint")
    if candidates := problem.get("candidates"):
        hint = "\n".join([hint or "", *map(_candidate, candidates)])
    if status == 404:
        return NotFound(code, message, hint=hint)
    if status in (409, 412):
        return Conflict(code, message, hint=hint)
    if status in (502, 503, 504):
        return Unavailable(code, message, hint=hint)
    if field := problem.get("field"):
        if "position" in problem or field == "schedule":
            return ScheduleError(code, message, position=problem.get("position"), field=field, hint=hint)
        return InvalidField(code, message, field=field, hint=hint)
    return SextonError(code, message, hint=hint)


def _decoded(kind: str | None, content: bytes) -> Any:
    """The body of an answer; a proxy may answer with what is no JSON."""
    if not content:
        return None
    return json.loads(content) if "json" in (kind or "") else content.decode("utf-8", "replace")


def _candidate(found: dict[str, str]) -> str:
    """A meaning of a local time, and how to choose it: `--fold first: 2027-10-31T02:30:00+02:00 (…Z)`."""
    name = "fold" if "fold" in found else "gap"
    return f"--{name} {found[name]}: {found['local']}{found['offset']} ({found['utc']})"


def _target(path: str, query: Mapping[str, Any]) -> str:
    base = path if path.startswith((PREFIX, "/healthz", "/readyz", "/metrics")) else PREFIX + path
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return f"{base}?{urlencode(given)}" if given else base
