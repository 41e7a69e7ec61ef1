"""A campaign, or thousands of single messages, under way while workers die, as `scenarios`: importing this
adds them.

A provider writes down every key that it gets. Whatever was killed: each recipient's message was written or is
marked as unconfirmed, none is lost, and without keys none was written twice.
"""

from __future__ import annotations

import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sexton.model import encode_id
from sexton.notifications.campaigns.campaign import create_campaign, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.channels.table import provider_kinds
from sexton.notifications.message import create_messages
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.faults.harness import Cluster
from tests.faults.scenarios import scenario
from tests.faults.written_channel import VARIABLE, ForgetfulProvider, MindfulProvider
from tests.notifications.crowd import add_recipients, add_template

KINDS = {"forgetful": ForgetfulProvider, "mindful": MindfulProvider}
CHANNELS = ",".join(f"{name}={kind.__module__}:{kind.__qualname__}" for name, kind in KINDS.items())
STEPS = ("step.begun", "step.acted", "step.noted")


@scenario("a campaign: `kill -9` of a worker at every step, no keys at the provider", schedulers=1, workers=1)
async def campaign_worker_killed(cluster: Cluster) -> None:
    await play_campaign(cluster, "forgetful")


@scenario("a campaign: `kill -9` of a worker at every step, keys at the provider", schedulers=1, workers=1)
async def campaign_worker_killed_with_keys(cluster: Cluster) -> None:
    await play_campaign(cluster, "mindful")


@scenario(
    "single messages: `kill -9` of a worker at every step, no keys at the provider", schedulers=1, workers=1
)
async def messages_worker_killed(cluster: Cluster) -> None:
    await play_campaign(cluster, "forgetful", single=True)


@scenario(
    "single messages: `kill -9` of a worker at every step, keys at the provider", schedulers=1, workers=1
)
async def messages_worker_killed_with_keys(cluster: Cluster) -> None:
    await play_campaign(cluster, "mindful", single=True)


async def play_campaign(cluster: Cluster, kind: str, *, single: bool = False) -> None:
    # A run of single messages dies with three batches of 500 under way; some must be left for the last.
    recipients = (6000 if single else 2000) * cluster.scale.rounds ** (1 + single)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        written = Path(folder) / "written"
        written.touch()
        for member in cluster.living("worker"):
            await member.kill()
        cluster.variables = {VARIABLE: str(written), "SEXTON_CHANNELS": CHANNELS}
        await (make_messages if single else make_campaign)(cluster, kind, recipients)
        for passage in range(1, cluster.scale.rounds + 1):
            await cluster.mark()
            for point in STEPS:
                doomed = await cluster.start("worker", crash_at=f"{point}:{passage}")
                assert await cluster.gone(doomed) == -signal.SIGKILL, cluster.said()
        await cluster.start("worker")
        over = "select count(*) = 0 from sexton.message_timers"
        await cluster.until_true(over if single else "select bool_and(status = 'done') from sexton.campaigns")
        await check_ledger(cluster, kind, written, recipients)
    # The sweep and the conductor of the campaign have no handler: the checker of handlers leaves them out.
    own = "select id from sexton.jobs where name like any ('{notifications/%,campaigns/%}')"
    rows = await cluster.fetch(own)
    cluster.apart.update(row["id"] for row in rows)
    cluster.variables = {}


async def make_campaign(cluster: Cluster, kind: str, recipients: int) -> None:
    async with prepared(cluster, kind, recipients) as context:
        made = await create_campaign(
            context, CampaignSpec(name="chaos", template_id="hello", audience=AudienceSpec(everyone=True))
        )
        await start(context, made.campaign_id)


async def make_messages(cluster: Cluster, kind: str, recipients: int) -> None:
    """All due now."""
    async with prepared(cluster, kind, recipients) as context:
        for first in range(1, recipients + 1, 2000):
            await create_messages(
                context,
                [
                    {"user_id": f"u{number}", "template_id": "hello", "channel": "email"}
                    for number in range(first, first + 2000)
                ],
            )


@asynccontextmanager
async def prepared(cluster: Cluster, kind: str, recipients: int) -> AsyncIterator[Context]:
    for name, provider in KINDS.items():
        provider_kinds().setdefault(name, provider)
    database = await Database.open(cluster.server.database_url(cluster.name))
    try:
        context = Context(database, actor="chaos")
        await put_provider(context, "written", ProviderSpec(channel="email", kind=kind))
        await add_template(database)
        await add_recipients(database, recipients)
        yield context
    finally:
        await database.close()


async def check_ledger(cluster: Cluster, kind: str, written: Path, recipients: int) -> None:
    rows = await cluster.fetch("select id, user_id, status from sexton.messages")
    statuses = {encode_id("n", row["id"]): row["status"] for row in rows}
    keys = Counter(written.read_text("ascii").split())
    assert len(rows) == len({row["user_id"] for row in rows}) == recipients
    assert set(statuses.values()) <= {"sent", "unconfirmed"}, Counter(statuses.values())
    lost = [key for key, status in statuses.items() if status == "sent" and key not in keys]
    strangers = [key for key in keys if key not in statuses]
    doubled = [key for key, count in keys.items() if count > 1]
    assert (lost, strangers) == ([], [])
    if kind == "forgetful":
        assert doubled == []
        assert "unconfirmed" in statuses.values()
    else:
        # Sent again under the same key: its provider takes it once.
        assert set(statuses.values()) == {"sent"}
