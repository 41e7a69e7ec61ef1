"""The log of a process: to the standard error, each line with its time in UTC."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

from sexton.clock import iso
from sexton.printable import printable

#: The current request, if there is one: every line that is logged meanwhile names it.
logged_request: ContextVar[str | None] = ContextVar("logged_request", default=None)


def set_up_logging() -> None:
    """Does nothing if the program has set logging up already."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(UtcFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class UtcFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        request_id, line = logged_request.get(), super().formatMessage(record)
        return line if request_id is None else f"{line} [request {request_id}]"

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """`2026-06-08 13:00:00.123Z`: the logs of all machines have the same zone."""
        return iso(datetime.fromtimestamp(record.created, UTC), "milliseconds").replace("T", " ")
