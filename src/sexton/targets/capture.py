"""Keeps what a handler prints and logs in the log of its run; the console still gets it.

A context variable names the attempt. The tasks and threads of a handler inherit it, so their output belongs
to the run, and other output does not. While a worker runs, it replaces `sys.stdout`, `sys.stderr` and the
factory of log records. A handler at the root of `logging` would disable `logging.basicConfig` and the handler
of last resort.
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
# Inside this function, handlers of `logging` write records that were kept already.
CALLING_HANDLERS = logging.Logger.callHandlers.__code__


class RunOutput:
    """The output and the log records of one attempt, from any of its tasks and threads."""

    __slots__ = ("_begun", "_run")

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._begun: dict[Level, str] | None = None

    def print(self, text: str, level: Level) -> None:
        """Keep whole lines; the rest waits for its line end."""
        with _printing:
            begun = self._begun = self._begun or {}
            *lines, rest = (begun.get(level, "") + text).split("\n")
            if len(rest) >= MESSAGE_LIMIT:
                lines, rest = [*lines, rest], ""
            begun[level] = rest
        for line in lines:
            self._line(line, level)

    def _line(self, line: str, level: Level) -> None:
        """Keep a line. Of an overwritten line, such as a progress bar, keep the last text."""
        self.log(line.rstrip("\r").rpartition("\r")[2], level)

    def log(self, text: str, level: Level) -> None:
        """Keep a text, unless it is empty or comes after the attempt."""
        if not self._run.ended and text and not text.isspace():
            _ = self._run.log(text, level)

    def flush(self) -> None:
        """Keep the unfinished lines."""
        if self._begun is not None:
            with _printing:
                begun, self._begun = self._begun, None
            for level, rest in begun.items():
                self._line(rest, level)


# One lock for all attempts: most of them print nothing.
_printing = threading.Lock()
_current: ContextVar[RunOutput | None] = ContextVar("sexton_output")
# `print` of Python 3.11 holds no reference to its stream: a stream that was replaced and freed meanwhile
# would crash the process.
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
    """Installs the hooks, and removes them again. Several workers in a process share them."""

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
        """Remove the hooks. If another program has replaced one meanwhile, its replacement stays, and so does
        the hook."""
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
    """A stream that also keeps its text with the run that writes it."""

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
        # Another captured stream may be below this one.
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
    """Makes log records, and keeps those of a run with it, except those of Sexton itself."""

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
