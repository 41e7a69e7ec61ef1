"""Every scenario, with leases of about a second: nothing is lost, doubled or early, and everything ends."""

from __future__ import annotations

import pytest

from tests.faults import (  # noqa: F401 - they register
    account_scenarios,
    campaign_scenarios,
    content_scenarios,
    database_scenarios,
    handler_scenarios,
    leader_scenarios,
    release_scenarios,
)
from tests.faults.fork_server import ForkServer
from tests.faults.harness import SHORT
from tests.faults.scenarios import SCENARIOS, play
from tests.faults.servers import Server


@pytest.mark.parametrize("name", SCENARIOS)
async def test_nothing_is_lost_or_doubled(name: str, fault_server: Server, forking: ForkServer) -> None:
    report, _ = await play(name, fault_server, forking, SHORT)
    assert report.expected > SHORT.jobs
    assert report.findings == {}
