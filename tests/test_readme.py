"""What README shows of `sexton why` is what Sexton says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from sexton import Run, Sexton
from sexton.testing import engine

README = Path(__file__).parent.parent / "README.md"


async def test_why_tells_what_readme_shows(server_url: str) -> None:
    found = re.search(
        r"^```text why\n\$ sexton why nightly-report\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S
    )
    assert found is not None
    app = Sexton(name="readme")

    @app.job("30 2 * * *", name="nightly-report", timezone="America/New_York", gap="skip")
    async def nightly_report(run: Run) -> None: ...

    async with engine(app, at=datetime(2027, 3, 11, 12, tzinfo=UTC), server=server_url) as test:
        await test.advance(hours=42)
        await test.outage(hours=3)
        await test.advance(hours=48)
        await app.pause("nightly-report")
        await test.advance(hours=24)
        await app.resume("nightly-report")
        told = [
            f"{line.scheduled_at:%Y-%m-%d %H:%M:%SZ}  {line.run_id or '   '}  {line.text}"
            for line in await app.why("nightly-report", ahead=1)
        ]
    assert told == found[1].splitlines()
