"""How a process of ours writes its log: to the standard error, each line with its time in UTC."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime


def keep_journal() -> None:
    """Unless somebody has set logging up already."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class Lines(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """`2026-06-08 13:00:00.123Z`: who reads logs of many machines should not have to ask for zones."""
        at = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
        return at.isoformat(" ", "milliseconds") + "Z"
