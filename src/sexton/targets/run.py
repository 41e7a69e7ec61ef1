"""Carries one run out: the attempt, and the `Outcome` of its end.

Nothing here writes. `execute` returns a value, and the worker records the outcomes of many runs at once.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from sexton.errors import InvalidField, LeaseLost, user_frames
from sexton.model import (
    Backoff,
    Cancel,
    Expired,
    Failure,
    Outcome,
    Release,
    Retry,
    RetryJitter,
    Snooze,
    Success,
    Trigger,
    Wait,
    encode_id,
)
from sexton.printable import counted
from sexton.targets.key import manual_key, occurrence_key

if TYPE_CHECKING:
    import asyncpg

    from sexton.postgres.database import Connection

log = logging.getLogger("sexton")

TOKEN_HEADER = "Sexton-Run-Token"

ERROR_LIMIT = 8 * 1024
MESSAGE_LIMIT = 16 * 1024
# The frames of a long traceback: where the user's code begins, and where the error was raised.
FIRST_FRAMES, LAST_FRAMES = 4, 6
# The most errors that are shown of a group.
SHOWN_PARTS = 5

# How much of an attempt's log is kept.
LOG_LINES = 10_000
LOG_BYTES = 1024 * 1024
CAPPED = f"the log ends here: {LOG_LINES:,} lines or 1 MiB of an attempt are kept"

# The row of a claim, by the names in statements/parts/claim_columns.sql.
RunRecord: TypeAlias = "asyncpg.Record | Mapping[str, Any]"
# A handler as the worker calls it: it takes the run and is awaited.
Step = Callable[["RunContext"], Awaitable[Any]]
Stop = Literal["timeout", "cancel", "lost", "shutdown"]


class AttemptPolicy(msgspec.Struct, frozen=True):
    """The options of a job for its attempts."""

    max_retries: int
    retry_backoff: Backoff
    retry_base_seconds: float
    retry_max_seconds: float
    retry_jitter: RetryJitter
    timeout_seconds: float
    idempotency_key_template: str | None


class Feedback(Protocol):
    """What the worker does for a run while it is under way. Any thread may call `progress` and `log`."""

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None: ...

    def log(self, run: RunContext, level: str, message: str) -> None: ...

    def transaction(self, done: Mapping[RunContext, Any]) -> AbstractAsyncContextManager[Connection]:
        """A transaction that ends with the success of the runs that are in `done` at the end of the block,
        each with its result."""
        ...

    async def token(self, run: RunContext) -> str: ...

    def database_seconds(self, moment: float) -> float:
        """A moment of the monotonic clock as seconds since 1970 on the database's clock."""
        ...


class RunContext:
    """An attempt, for the worker and for the steps of targets; handlers see it through a `Run` (`face`).

    It is made from the row of the claim; expensive properties are computed on demand.
    """

    __slots__ = (
        "_feedback",
        "_key",
        "_logged",
        "_payload",
        "_record",
        "claim",
        "committed",
        "ended",
        "id",
        "policy",
        "started",
        "stop",
        "stopped",
        "task",
    )

    def __init__(self, record: RunRecord, feedback: Feedback, policy: AttemptPolicy) -> None:
        self._record = record
        self._feedback = feedback
        self._payload: Any = msgspec.UNSET
        self._key: str | None = None
        self._logged = (0, 0)  # lines, bytes
        self.policy = policy
        self.id: int = record["id"]
        self.claim: int = record["claim"]
        self.started = 0.0
        self.stop: Stop | None = None
        self.stopped = 0.0
        self.committed = False
        self.ended = False
        self.task: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<run {self.run_id} of {self.job_name}, attempt {self.attempt}>"

    @property
    def payload(self) -> Any:
        if self._payload is msgspec.UNSET:
            text = self._record["payload"]
            self._payload = None if text is None else msgspec.json.decode(text)
        return self._payload

    @property
    def payload_json(self) -> str | None:
        """The payload as it is stored."""
        text: str | None = self._record["payload"]
        return text

    @property
    def run_id(self) -> str:
        return encode_id("r", self.id)

    @property
    def job_id(self) -> str:
        return encode_id("j", self._record["job_id"])

    @property
    def job(self) -> int:
        number: int = self._record["job_id"]
        return number

    @property
    def lane(self) -> int | None:
        """The lane that it was claimed from; None if there was no claim."""
        found: int | None = self._record.get("lane")
        return found

    @property
    def namespace(self) -> str | None:
        """Whose it is; None if the claim did not read it."""
        found: str | None = self._record.get("namespace")
        return found

    @property
    def job_name(self) -> str:
        name: str = self._record["name"]
        return name

    @property
    def scheduled_at(self) -> datetime:
        """The nominal time."""
        return datetime.fromtimestamp(self._record["scheduled_seconds"], UTC)

    @property
    def fired_at(self) -> datetime:
        """When the run was made."""
        return datetime.fromtimestamp(self._record["fired_seconds"], UTC)

    @property
    def trigger(self) -> Trigger:
        return Trigger(self._record["trigger"])

    @property
    def missed(self) -> bool:
        missed: bool = self._record["missed"]
        return missed

    @property
    def attempt(self) -> int:
        attempt: int = self._record["attempt"]
        return attempt

    @property
    def crashes(self) -> int:
        crashes: int = self._record["crashes"]
        return crashes

    @property
    def company(self) -> int:
        """How many runs that may end their process may be together; 0 for other runs."""
        company: int = self._record.get("company", 0)
        return company

    @property
    def revision(self) -> int:
        revision: int = self._record["revision"]
        return revision

    @property
    def target(self) -> str:
        """The job's target as JSON."""
        target: str = self._record["target"]
        return target

    @property
    def late_seconds(self) -> float:
        """How long after it was due the attempt began; never less than 0."""
        return max(0.0, self._feedback.database_seconds(self.started) - self.due_seconds)

    @property
    def due_seconds(self) -> float:
        """When it was due, jitter included, in seconds since 1970."""
        due: float = self._record["due_seconds"]
        return due

    @property
    def deadline(self) -> datetime:
        """When the attempt is stopped."""
        began = datetime.fromtimestamp(self._feedback.database_seconds(self.started), UTC)
        return began + timedelta(seconds=self.policy.timeout_seconds)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of an occurrence."""
        if self._key is None:
            self._key = self._record["idempotency_key"] or self._make_key()
        return self._key

    @property
    def has_new_key(self) -> bool:
        """Whether its key comes from a template and has not been kept yet."""
        return self.policy.idempotency_key_template is not None and self._record["idempotency_key"] is None

    def _make_key(self) -> str:
        record, template = self._record, self.policy.idempotency_key_template
        make = partial(
            partial(manual_key, run_id=self.id) if record["trigger"] == Trigger.MANUAL else occurrence_key,
            job_id=record["job_id"],
            job_name=record["name"],
            scheduled_at=self.scheduled_at,
            timezone=record["timezone"] or "UTC",
            payload=None if template is None else self.payload,
        )
        try:
            return make(template)
        except InvalidField as error:
            # Templates are checked with the job's payload; a run may have another payload.
            log.warning("%r: %s; the default key is used", self, error)
            return make(None)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt should end."""
        return self.stop is not None

    def progress(self, fraction: float, text: str | None = None) -> Awaitable[None]:
        """Say how far the run is, from 0 to 1: it is written with the next batch."""
        self._feedback.progress(self, min(1.0, max(0.0, float(fraction))), text)
        return DONE

    def log(self, message: object, level: str = "info") -> Awaitable[None]:
        """Keep a line with the run; it is written with the next batch. If an attempt logs too much, a last
        line says so, and later lines are dropped."""
        line = clean(str(message), MESSAGE_LIMIT)
        lines, size = self._logged
        if lines < LOG_LINES:
            lines, size = lines + 1, size + len(line.encode())
            if lines == LOG_LINES or size > LOG_BYTES:
                lines, level, line = LOG_LINES, "warning", CAPPED
            self._logged = (lines, size)
            self._feedback.log(self, level, line)
        return DONE

    async def token(self) -> str:
        """What a service needs to report how this attempt ended."""
        return await self._feedback.token(self)

    def transaction(self, result: Any = None) -> AbstractAsyncContextManager[Connection]:
        """A transaction that ends with the success of the run. If another worker has taken the run over,
        everything is rolled back and `LeaseLost` is raised."""
        return self._feedback.transaction({self: result})

    def shared_transaction(self, done: Mapping[RunContext, Any]) -> AbstractAsyncContextManager[Connection]:
        """The same for several runs of this worker: those in `done` at the end of the block. If one of them
        was lost, everything is rolled back."""
        return self._feedback.transaction(done)


class _Done:
    """An awaitable that is done already. Dropping it causes no warning."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


DONE = _Done()
SUCCESS = Success()
OUTCOMES = (Success, Failure, Retry, Snooze, Wait, Release, Cancel, Expired)


async def execute(run: RunContext, step: Step) -> Outcome | None:
    """Carry the run out and return its outcome, whatever it raised; None if another worker has taken it
    over."""
    try:
        value = await step(run)
        if value is None:
            return SUCCESS
        return value if isinstance(value, OUTCOMES) else Success(value)
    except BaseException as error:
        # If the task ended with one of these, its slot would be lost, or the event loop would end.
        return ended_by(run, error)


def ended_by(run: RunContext, error: BaseException) -> Outcome | None:
    """The outcome of an attempt that ended by raising."""
    if run.stop is not None:
        return stopped(run, error)
    if isinstance(error, LeaseLost):
        return None
    if isinstance(error, asyncio.CancelledError):
        # Nothing outside has stopped it: the handler has cancelled itself, or one of its tasks.
        return Failure("CancelledError: the handler was cancelled from within")
    return Failure(describe(error))


def stopped(run: RunContext, error: BaseException | None = None) -> Outcome | None:
    """The outcome of an attempt that was stopped from outside, and then ended with this error."""
    match run.stop:
        case "timeout":
            why = f"timeout: it was stopped after {counted(run.policy.timeout_seconds, 'second')}"
            if error is not None and not isinstance(error, asyncio.CancelledError):
                why += f", and then raised {describe(error)}"
            return Failure(why, kind="timeout")
        case "cancel":
            return Cancel("cancelled")
        case _:
            return None


def describe(error: BaseException) -> str:
    """The error on the first line, then its traceback from the user's first line on. For a group, also the
    errors in it."""
    cause = error.__cause__
    if isinstance(cause, StopIteration | GeneratorExit) and isinstance(error, RuntimeError):
        # A coroutine or a future turns such an error into a RuntimeError.
        error = cause
    parts = [_trace(error), *(describe(each) for each in _parts(error)[:SHOWN_PARTS])]
    text = "\n\n".join(part for part in (clean(_head(error), ERROR_LIMIT // 2), *parts) if part)
    return clean(text, ERROR_LIMIT).rstrip()


def _head(error: BaseException) -> str:
    """In about one line: the type and the text of the error, and of the errors in a group."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # it is the user's, and may do anything
        text = ""
    head = f"{name}: {text}" if text else name
    parts = [_head(each) for each in _parts(error)[:SHOWN_PARTS]]
    return f"{head}: {'; '.join(parts)}" if parts else head


def _parts(error: BaseException) -> tuple[BaseException, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()


def _trace(error: BaseException) -> str:
    frames = traceback.format_list(user_frames(error) or traceback.extract_tb(error.__traceback__))
    if len(frames) > FIRST_FRAMES + LAST_FRAMES:
        frames[FIRST_FRAMES:-LAST_FRAMES] = ["  …\n"]
    return "".join(frames).rstrip("\n")


def clean(text: str, limit: int) -> str:
    """Text that PostgreSQL takes: no NUL, no lone surrogates, not too long."""
    text = text.replace("\0", "�")
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
