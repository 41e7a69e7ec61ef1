"""What a worker does with dead letters: the engine of the tests does not do it by itself."""

from __future__ import annotations

from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.dead_letter_sender import DeadLetterSender
from sexton.targets.http.outbound import Outbound
from sexton.targets.table import make_services, open_kinds
from sexton.testing import Engine


async def deliver_letters(engine: Engine) -> int:
    """Tell their kinds of the runs that are dead, twice: how many there were, and none is told again."""
    outbound = Outbound(Settings())
    kinds = open_kinds(make_services(engine.database, Settings(), outbound))
    sender = DeadLetterSender(engine.database, Settings(), kinds, Telemetry(), now=lambda: engine.now)
    found = await sender.deliver()
    assert await sender.deliver() == 0
    for kind in kinds.values():
        await kind.close()
    await outbound.close()
    return found
