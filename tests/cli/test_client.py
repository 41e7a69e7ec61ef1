"""The client against a real server, and where it looks for one."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sexton.api.jobs import routes
from sexton.api.runs.routes import CANCEL_RUN
from sexton.cli.client import DEFAULT_URL, Client, find_url, path_of
from sexton.errors import Conflict, InvalidField, NotFound, ScheduleError, Unavailable
from tests.cli.server import Server

HOURLY = {"name": "hourly", "schedule": "0 * * * *"}


def test_errors_come_back_as_what_they_were(database_url: str) -> None:
    with Server(database_url) as server, Client(server.url) as client:
        job = client.post("/jobs", HOURLY)
        with pytest.raises(Conflict) as taken:
            client.post("/jobs", HOURLY)
        assert taken.value.code == "name_taken"
        with pytest.raises(ScheduleError) as bad:
            client.post("/jobs", {"name": "a", "schedule": "0 9 * * 9"})
        assert bad.value.position == 8
        with pytest.raises(InvalidField) as unknown:
            client.post("/jobs", {**HOURLY, "tz": "UTC"})
        assert (unknown.value.field, unknown.value.hint) == ("tz", "did you mean timezone?")
        with pytest.raises(NotFound):
            client.ask(routes.GET_JOB, "no such job")
        with pytest.raises(Conflict) as stale:
            client.patch("/jobs/hourly", {"owner": "x"}, revision=7)
        assert stale.value.code == "revision_conflict"
        assert client.patch("/jobs/hourly", {"owner": "x"}, revision=1)["owner"] == "x"
        assert client.ask(routes.PUT_JOB, "b", schedule="every 1m")["name"] == "b"
        client.ask(routes.DELETE_JOB, job["job_id"], cancel_running=True)
        assert [each["name"] for each in client.pages("/jobs")] == ["b"]


def test_lists_go_on_over_pages(database_url: str) -> None:
    with Server(database_url) as server, Client(server.url) as client:
        lines = [json.dumps({"name": f"job-{index}", "schedule": "every 1m"}).encode() for index in range(7)]
        assert client.bulk(lines, key="once") == client.bulk(lines, key="once") == {"lines": 7, "created": 7}
        assert client.bulk([b"{}"])["errors"][0]["line"] == 1
        assert len(list(client.pages("/jobs", limit=2))) == 7
        assert len(list(client.pages("/jobs", most=3, limit=2))) == 3


def test_a_closed_connection_is_opened_again(database_url: str) -> None:
    with Server(database_url) as server, Client(server.url) as client:
        client.get("/jobs")
        connection = client._connection
        assert connection is not None
        connection.sock.close()
        assert client.get("/jobs") == []


def test_a_path_has_its_parameters_quoted() -> None:
    assert path_of(CANCEL_RUN, "a/b c") == "/api/v1/runs/a%2Fb%20c/cancel"


def test_nothing_answers() -> None:
    with pytest.raises(Unavailable) as refused, Client("http://127.0.0.1:1") as client:
        client.get("/jobs")
    assert refused.value.code == "not_running"


@pytest.mark.parametrize("url", ["ftp://example.com", "http://", "http://localhost:99999", "http://["])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InvalidField) as refused:
        Client(url).get("/jobs")
    assert (refused.value.code, refused.value.field) == ("bad_url", "SEXTON_URL")


def test_where_the_server_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SEXTON_URL", raising=False)
    monkeypatch.setenv("SEXTON_DATA", str(tmp_path))
    assert find_url() == DEFAULT_URL
    (tmp_path / "up.json").write_text("{broken")
    assert find_url() == DEFAULT_URL
    (tmp_path / "up.json").write_text(
        json.dumps({"pid": 1, "address": "http://127.0.0.1:7391", "workers": 1})
    )
    assert find_url() == "http://127.0.0.1:7391"
    monkeypatch.setenv("SEXTON_URL", "http://elsewhere:1")
    assert find_url() == "http://elsewhere:1"


class Proxy(BaseHTTPRequestHandler):
    """Its server is away."""

    def do_GET(self) -> None:
        self.send_response(502)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "15")
        self.end_headers()
        self.wfile.write(b"<h1>Sorry!</h1>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Stranger(Proxy):
    """A web server that is not Sexton, such as another one on its port."""

    def do_GET(self) -> None:
        self.send_error(404)


def test_a_server_that_is_not_sexton_is_named() -> None:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            with Client(url, key="x") as client:
                for ask in (client.get, lambda path: list(client.parts(path))):
                    with pytest.raises(NotFound) as refused:
                        ask("/jobs")
                    assert refused.value.hint is not None
                    assert f"{url} may not be Sexton" in refused.value.hint
        finally:
            server.shutdown()
            thread.join()


def test_an_error_of_a_proxy_is_told_as_what_it_is() -> None:
    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{server.server_port}", key="x") as client:
                for ask in (client.get, lambda path: list(client.parts(path))):
                    with pytest.raises(Unavailable) as refused:
                        ask("/jobs")
                    assert "status 502" in refused.value.message
        finally:
            server.shutdown()
            thread.join()
