"""What a handler prints and logs, kept in the log of its run; the console gets it as ever.

A context variable names the attempt. The tasks and threads that a handler starts inherit it, so that what
they print belongs to its run, and what anything else prints does not. While a worker runs, `sys.stdout`,
`sys.stderr` and the factory of log records are replaced by ones that look at it: not a handler at the root of
`logging`, which would keep `logging.basicConfig` from working and silence the handler of last resort.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Literal, TextIO, cast

from sexton.targets.run import MESSAGE_LIMIT, RunContext, Step

Level = Literal["debug", "info", "warning", "error"]
MakeRecord = Callable[..., logging.LogRecord]

STREAMS: tuple[tuple[Literal["stdout", "stderr"], Level], ...] = (("stdout", "info"), ("stderr", "warning"))
# Below it, other handlers of `logging` write what was kept already.
CALLING_HANDLERS = logging.Logger.callHandlers.__code__


class RunOutput:
    """What one attempt prints and logs, from any of its tasks and threads."""

    __slots__ = ("_begun", "_run")

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._begun: dict[Level, str] | None = None

    def print(self, text: str, level: Level) -> None:
        """Keep whole lines; the rest waits for its end."""
        with _printing:
            begun = self._begun = self._begun or {}
            *lines, rest = (begun.get(level, "") + text).split("\n")
            if len(rest) >= MESSAGE_LIMIT:
                lines, rest = [*lines, rest], ""
            begun[level] = rest
        for line in lines:
            self._line(line, level)

    def _line(self, line: str, level: Level) -> None:
        """Of one that was written over, as a bar of progress is, what was written last."""
        self.log(line.rstrip("\r").rpartition("\r")[2], level)

    def log(self, text: str, level: Level) -> None:
        """Not what is said after the attempt, and nothing empty."""
        if not self._run.ended and text and not text.isspace():
            _ = self._run.log(text, level)

    def flush(self) -> None:
        """What has no end of its own ends here."""
        if self._begun is not None:
            with _printing:
                begun, self._begun = self._begun, None
            for level, rest in begun.items():
                self._line(rest, level)


# One for all: most attempts print nothing, and need none of their own.
_printing = threading.Lock()
_current: ContextVar[RunOutput | None] = ContextVar("sexton_output")
# `print` of Python 3.11 has no reference of its own to the stream that it writes to: one that was taken away
# meanwhile, and freed, would crash the process.
_kept: deque[CapturedStream] = deque(maxlen=100)


def captured(step: Step) -> Step:
    """A step whose output is kept with its run, while a `Capture` is on."""

    async def carry_out(run: RunContext) -> Any:
        output = RunOutput(run)
        token = _current.set(output)
        try:
            return await step(run)
        finally:
            _current.reset(token)
            output.flush()

    return carry_out


class Capture:
    """Puts the hooks in place, and takes them away again. Several workers in a process share them."""

    def __init__(self) -> None:
        self._on = False

    def start(self) -> None:
        if self._on:
            return
        self._on = True
        for name, level in STREAMS:
            stream = getattr(sys, name)
            if isinstance(stream, CapturedStream):
                stream.users += 1
            elif stream is not None:
                setattr(sys, name, cast("TextIO", CapturedStream(stream, level)))
        make = logging.getLogRecordFactory()
        if isinstance(make, CapturedRecords):
            make.users += 1
        else:
            logging.setLogRecordFactory(CapturedRecords(make))

    def stop(self) -> None:
        """What another program has put over them in the meantime stays, and so do they under it."""
        if not self._on:
            return
        self._on = False
        for name, _ in STREAMS:
            stream = getattr(sys, name)
            if isinstance(stream, CapturedStream):
                stream.users -= 1
                if not stream.users:
                    setattr(sys, name, stream.stream)
        make = logging.getLogRecordFactory()
        if isinstance(make, CapturedRecords):
            make.users -= 1
            if not make.users:
                logging.setLogRecordFactory(make.make)


class CapturedStream:
    """A stream that also keeps what is written with the run that writes it."""

    def __init__(self, stream: TextIO, level: Level) -> None:
        self.stream = stream
        self.users = 1
        self._level = level
        _kept.append(self)

    def write(self, text: str) -> int:
        output = _current.get(None)
        if output is None:
            return self.stream.write(text)
        if not _is_logging():
            output.print(text, self._level)
        # There may be another one under a stream that was put over it.
        token = _current.set(None)
        try:
            return self.stream.write(text)
        finally:
            _current.reset(token)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Any:
        return iter(self.stream)


class CapturedRecords:
    """Makes log records, and keeps those of a run with it; not those of Sexton itself."""

    def __init__(self, make: MakeRecord) -> None:
        self.make = make
        self.users = 1

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self.make(*args, **kwargs)
        output = _current.get(None)
        if output is not None and record.name.partition(".")[0] != "sexton":
            output.log(_text(record), _level(record.levelno))
        return record


def _is_logging() -> bool:
    """Whether a handler of `logging` is writing."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is CALLING_HANDLERS:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _text(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception:  # its arguments do not fit; `logging` tells where it writes
        text = str(record.msg)
    if record.exc_info and record.exc_info[0] is not None:
        text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
    return text


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"
