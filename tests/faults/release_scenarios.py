"""What becomes of the files that a process was started from, as `scenarios`: importing this adds them."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from sexton.api.application import operations
from tests.faults.harness import ROOT, Cluster
from tests.faults.member import Member
from tests.faults.scenarios import scenario

API = "/api/v1"
#: What a path that ends with this cannot do without.
QUERIES = {"calendar": "?start=2026-06-01&end=2026-06-02", "search": "?q=web", "zones": "?search=berlin"}


@scenario("the files of the release moved away under running processes", schedulers=1, workers=1)
async def release_moved(cluster: Cluster) -> None:
    """They have read all that they need: what they do for the first time goes on, too."""
    for member in cluster.members:
        await member.kill()
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        release = Path(folder) / "release"
        await asyncio.to_thread(link_release, release)
        # The virtual environment is not to help out.
        cluster.program = [os.path.realpath(sys.executable), "-s", "-m", "sexton"]
        cluster.variables = {"PYTHONPATH": f"{release}/src:{release}/packages"}
        scheduler = await cluster.start("api,scheduler")
        worker = await cluster.start("worker", allow_shell="true", shell_commands="/bin/true")
        await cluster.turn(1)
        release.rename(Path(folder) / "moved")
        await cluster.mark()
        await fires(cluster)
        await carries_out(cluster, scheduler)
        await answers(cluster, scheduler)
        for member in (scheduler, worker):
            assert not member.said("No such file"), cluster.said()
            assert not member.said("ModuleNotFoundError"), cluster.said()
            assert await member.terminate() == 0, cluster.said()
    cluster.program, cluster.variables = None, {}
    await cluster.start("scheduler")
    await cluster.start("worker")


@scenario("no file descriptors left for a while", schedulers=1, workers=1)
async def no_descriptors(cluster: Cluster) -> None:
    """What needs no new file or connection goes on, for new zones and schedules too."""
    before = {
        member: resource.prlimit(member.process.pid, resource.RLIMIT_NOFILE) for member in cluster.members
    }
    for member, (_, most) in before.items():
        held = max(int(each.name) for each in Path(f"/proc/{member.process.pid}/fd").iterdir())
        resource.prlimit(member.process.pid, resource.RLIMIT_NOFILE, (held + 1, most))
    await fires(cluster)
    await cluster.mark()
    for member, limits in before.items():
        resource.prlimit(member.process.pid, resource.RLIMIT_NOFILE, limits)
    await cluster.turn(1)
    await cluster.recovered()


def link_release(release: Path) -> None:
    """All of Sexton and of the packages that it uses, by links."""
    for source, name in ((ROOT / "src", "src"), (Path(sysconfig.get_path("purelib")), "packages")):
        shutil.copytree(
            source,
            release / name,
            copy_function=os.symlink,
            ignore=shutil.ignore_patterns("pgserver", "mypy*"),
        )


async def fires(cluster: Cluster) -> None:
    """Kinds of schedules and zones that these processes have not met before."""
    jobs = [
        await cluster.add_job("chatham", "* * * * * *", timezone="Pacific/Chatham"),
        await cluster.add_job("st-johns", "*/2 * * * * *", timezone="America/St_Johns", overlap="SKIP"),
        await cluster.add_job("rule", "FREQ=SECONDLY"),
    ]
    for job in jobs:
        await cluster.until_true(
            "select count(*) >= 2 from sexton.history where job_id = $1 and status = 'success'", job.id
        )


async def carries_out(cluster: Cluster, api: Member) -> None:
    """Every kind of target, and a run that fails."""
    async with service() as url:
        targets = {
            "web": {"http": {"url": url}},
            "command": {"shell": {"command": ["/bin/true"]}},
            "failing": {"handler": "sexton.fail"},
            "zone": {"handler": "sexton.noop"},
        }
        for name, target in targets.items():
            spec = {
                "name": name, "schedule": "0 9 29 2 *", "timezone": "Asia/Kathmandu", "target": target,
                "payload": {"a": 1}, "max_retries": 0, "idempotency_key_template": "{{job_name}}-{{week}}",
            }  # fmt: skip
            assert (await api.request("POST", f"{API}/jobs", spec))[0] == 201, cluster.said()
            assert (await api.request("POST", f"{API}/jobs/{name}/run"))[0] == 201, cluster.said()
        for name in targets:
            status = "dead" if name == "failing" else "success"
            await cluster.until_true(
                """select exists (
                    select from sexton.history h join sexton.jobs j on j.id = h.job_id
                    where j.name = $1 and h.status = $2
                )""",
                name,
                status,
            )


async def answers(cluster: Cluster, api: Member) -> None:
    """Every page and every list, changes, and refusals."""
    plain = [each.template for each in operations() if each.method == "GET" and "{" not in each.template]
    paths = [*plain, "/", "/docs", "/openapi.json", *(f"{API}/jobs/web{of}" for of in ("", "/runs", "/why"))]
    for path in paths:
        status, _ = await api.request("GET", path + QUERIES.get(path.rpartition("/")[2], ""))
        assert status == 200, f"{path}: {status}\n{cluster.said()}"
    for method, path, body, wanted in (
        ("PATCH", "/jobs/web", {"schedule": "every 1d"}, 200),
        ("POST", "/jobs/web/pause", None, 200),
        ("POST", "/jobs/web/resume", None, 200),
        ("POST", "/jobs", {"name": "x", "schedul": "every 1d"}, 422),
        ("POST", "/jobs", {"name": "x", "schedule": "every 1d", "timezone": "Europe/Berlinn"}, 422),
        ("DELETE", "/jobs/web", None, 204),
    ):
        status, _ = await api.request(method, f"{API}{path}", body)
        assert status == wanted, f"{method} {path}: {status}\n{cluster.said()}"


@asynccontextmanager
async def service() -> AsyncIterator[str]:
    """A receiver of requests."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(await request.json())

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        [(host, port)] = [address[:2] for address in runner.addresses]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()
