"""The adapter for Wagtail, against a real site: inside it, and with the processes of `manage.py sexton`."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from sexton.cli.client import Client
from sexton.errors import Unavailable
from tests.conftest import with_database
from tests.servers import wagtail
from tests.servers.address import address
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.servers

CHECKS = Path(__file__).parent / "site" / "checks.py"
# Of a page and a snippet, each with a first text that is pinned and a later draft.
MAKE = """
import json
from home.models import Article, Banner
from wagtail.models import Page
page = Article(title="Spring", slug="spring", body="first", live=False)
Page.get_first_root_node().add_child(instance=page)
banner = Banner.objects.create(text="first", live=False)
made = {}
for name, found, field in (("page", page, "body"), ("banner", banner, "text")):
    first = found.save_revision()
    setattr(found, field, "second")
    made[name] = [found.pk, first.pk, found.save_revision().pk]
print(json.dumps(made))
"""


class Site:
    """A site in a PostgreSQL database of its own, in which Sexton lives, too."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.environment = wagtail.in_postgres(url)
        self.manage("sexton", "migrate")
        made = json.loads(self.manage("shell", "-v0", "-c", MAKE).splitlines()[-1])
        self.page, self.first, self.second = made["page"]
        self.banner, self.banner_first, _ = made["banner"]

    def manage(self, *arguments: str) -> str:
        return wagtail.manage(self.folder, self.environment, *arguments)

    async def row(self, statement: str, *given: Any) -> dict[str, Any]:
        connection = await asyncpg.connect(self.url)
        try:
            return dict(await connection.fetchrow(statement, *given) or {})
        finally:
            await connection.close()

    async def shown(self) -> tuple[bool, int | None, str]:
        """Whether the page is live, its revision, and its text."""
        found = await self.row(
            "select live, live_revision_id, body from wagtailcore_page join home_article on page_ptr_id = id"
            " where id = $1",
            self.page,
        )
        return found["live"], found["live_revision_id"], found["body"]

    @contextmanager
    def running(self, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
        """A process of `manage.py sexton`, until the block ends."""
        process = subprocess.Popen(
            [sys.executable, self.folder / "site" / "manage.py", "sexton", *arguments],
            cwd=self.folder,
            env=wagtail.site_environment(self.folder, {**self.environment, **variables}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    folder = Path(address("SEXTON_TEST_WAGTAIL"))
    async with own_database(folder) as url:
        yield await asyncio.to_thread(Site, folder, url)


@asynccontextmanager
async def own_database(folder: Path) -> AsyncIterator[str]:
    """A copy of the site's tables, as the harness has made them."""
    template = (folder / wagtail.ADDRESS).read_text("utf-8")
    name = f"site_{uuid4().hex[:12]}"
    connection = await asyncpg.connect(with_database(template, "template1"))
    try:
        tables = template.partition("?")[0].rpartition("/")[2]
        await connection.execute(f"create database {name} template {tables}")
        yield with_database(template, name)
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_the_adapter_keeps_its_contract_inside_a_site(kind: str, tmp_path: Path) -> None:
    """What is checked is in `site/checks.py`."""
    folder = Path(address("SEXTON_TEST_WAGTAIL"))
    async with own_database(folder) as url:
        given = wagtail.in_postgres(url)
        if kind == "sqlite":
            given = {"SITE_FILE": str(shutil.copy(folder / wagtail.FILE, tmp_path))}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
            "-c", str(CHECKS.with_name("pytest.ini")), str(CHECKS),
            cwd=tmp_path,
            env=wagtail.site_environment(folder, {**given, "SEXTON_DATA": str(tmp_path / "none")}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, printed[-20_000:]
    assert re.search(r"\b\d\d passed\b", printed), printed


async def test_a_page_and_a_snippet_go_out_and_come_back_as_planned(site: Site) -> None:
    with (
        site.running("up", "--port", "0", "--workers", "1") as process,
        Client(await asyncio.to_thread(said_address, process)) as client,
    ):
        published = plan(client, "page", site.page, "publish", version=site.first)
        assert (await ended(client, published))["effect"] == "changed"
        assert await site.shown() == (True, site.first, "first")
        again = plan(client, "page", site.page, "publish", version=site.first)
        assert (await ended(client, again))["effect"] == "no_op"
        latest = plan(client, "page", site.page, "publish")
        assert (await ended(client, latest))["version"] == site.second
        assert await site.shown() == (True, site.second, "second")
        off = plan(client, "page", site.page, "unpublish")
        assert (await ended(client, off))["state_after"] == "unpublished"
        assert (await site.shown())[0] is False
        banner = plan(client, "home.banner", site.banner, "publish", version=site.banner_first)
        assert (await ended(client, banner))["effect"] == "changed"
        found = await site.row("select live, text from home_banner where id = $1", site.banner)
        assert found == {"live": True, "text": "first"}
        absent = plan(client, "page", 999_999, "publish")
        failed = await ended(client, absent, status="failed")
        assert "there is no page/999999" in failed["last_error"]
        archived = plan(client, "page", site.page, "archive")
        assert (await ended(client, archived))["state_after"] == "archived"
        # Jobs of the project run there, too, and its command line reaches the server.
        there = {**site.environment, "SEXTON_URL": client.url}
        words = ("sexton", "jobs", "run", "count-articles", "--wait")
        said = await asyncio.to_thread(wagtail.manage, site.folder, there, *words)
        assert re.search(r"success after .*: 1$", said.strip()), said


async def test_a_worker_that_is_killed_between_change_and_record_does_it_once(site: Site) -> None:
    port = free_port()
    with (
        site.running("node", "--roles", "api,scheduler", "--port", str(port)),
        Client(f"http://127.0.0.1:{port}") as client,
    ):
        await until(lambda: answers(client))
        with site.running("node", "--roles", "worker", SEXTON_CRASH_AT="step.acted") as first:
            made = plan(client, "page", site.page, "publish", version=site.first)
            code = await asyncio.to_thread(first.wait, PATIENCE)
        assert code == -signal.SIGKILL
        assert await site.shown() == (True, site.first, "first")
        assert client.get(f"/content/schedules/{made}")["status"] != "done"
        with site.running("node", "--roles", "worker"):
            done = await ended(client, made)
        assert (done["effect"], done["state_before"], done["state_after"]) == (
            "changed",
            "draft",
            "published",
        )
        noted = await site.row(
            "select count(*) from wagtailcore_pagelogentry where page_id = $1 and action = 'sexton.publish'",
            site.page,
        )
        assert noted == {"count": 1}


def plan(client: Client, type_: str, id_: int, action: str, **more: Any) -> str:
    at = datetime.now(UTC) + timedelta(seconds=1)
    body = {
        "entity_type": type_,
        "entity_id": id_,
        "action": action,
        "created_by": "ann",
        "adapter": "wagtail",
    }
    made = client.post("/content/schedules", {**body, "at": at.isoformat(), "force": True, **more})
    return str(made["schedule_id"])


async def ended(client: Client, schedule: str, status: str = "done") -> dict[str, Any]:
    """What an action did, once it has ended so."""

    async def shown() -> bool:
        found = await asyncio.to_thread(client.get, f"/content/schedules/{schedule}")
        assert found["status"] in ("pending", "processing", status), found
        return bool(found["status"] == status)

    async def recorded() -> bool:
        [execution] = await asyncio.to_thread(client.get, f"/content/schedules/{schedule}/executions")
        return bool(execution["status"] != "running")

    await until(shown)
    await until(recorded)
    found: dict[str, Any] = client.get(f"/content/schedules/{schedule}")
    [execution] = client.get(f"/content/schedules/{schedule}/executions")
    return {**found, **(client.get(f"/runs/{execution['execution_id']}")["result"] or {})}


async def answers(client: Client) -> bool:
    try:
        await asyncio.to_thread(client.get, "/jobs")
    except Unavailable:
        return False
    return True


def said_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.match(r"Sexton is up: (\S+)", line):
            return found[1]
    raise AssertionError(said)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
