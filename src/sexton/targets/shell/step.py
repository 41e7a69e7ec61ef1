"""The shell target: a command on the worker's machine, in a process group of its own.

A worker serves only the programs that its settings allow. The command gets the payload on its standard input,
and in its environment the ids of its run. Of the worker's environment it sees where programs and homes are,
and nothing else: the worker's settings and secrets stay hidden. Its output is kept in the run's log. When its
time is up the whole group is asked to end, and killed if it does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections import deque
from collections.abc import Callable
from functools import partial

from sexton.clock import iso
from sexton.model import Failure, Outcome, Success
from sexton.targets.base import Refused, TargetServices
from sexton.targets.run import RunContext, Step, clean
from sexton.targets.shell.kind import ShellTarget

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
# A worker waits ten seconds for a run that was stopped.
END_SECONDS = 5.0
LONGEST_LINE = 16 * 1024
LAST_LINES = 50
LAST_BYTES = 16 * 1024


class OpenShell:
    def __init__(self, services: TargetServices) -> None:
        self._secrets = services.renderer.secrets
        self._guarded = services.renderer.guarded
        self._allowed = frozenset(services.settings.allowed_commands())

    def step(self, spec: ShellTarget) -> Step | None:
        if spec.words[0] not in self._allowed:
            return None
        return self._guarded(partial(self._run, spec))

    async def close(self) -> None:
        """Nothing is kept between runs."""

    async def _run(self, shell: ShellTarget, run: RunContext) -> Outcome:
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        for name, value in shell.environment.items():
            environment[name] = await self._secrets.reveal(value)
        environment |= run_environment(run)
        mask = self._secrets.mask
        command = Command(lambda line, level: run.log(mask(line), level))
        # Cancelled half-way, asyncio would kill the command alone and wait for its children.
        starting = asyncio.ensure_future(_start(shell, environment, command))
        try:
            transport = await asyncio.shield(starting)
        except asyncio.CancelledError:
            transport = await starting
            await _end(transport, command)
            transport.close()
            raise
        _feed(transport, (run.payload_json or "null").encode())
        try:
            await asyncio.shield(command.exited)
            # What it left running in the background may hold on to its output.
            _signal(transport, signal.SIGKILL)
            await command.closed
        finally:
            await _end(transport, command)
            transport.close()
        code = transport.get_returncode()
        assert code is not None
        return judge(shell, code, command)


class Command(asyncio.SubprocessProtocol):
    """A command under way: every line it says is passed on, the last ones are kept."""

    def __init__(self, pass_on: Callable[[str, str], object]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.output = Output(lambda line: pass_on(line, "info"))
        self.errors = Output(lambda line: pass_on(line, "warning"))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.output if fd == 1 else self.errors).take(data)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has exited and all its pipes are closed."""
        self.output.end()
        self.errors.end()
        if not self.closed.done():
            self.closed.set_result(None)


class Output:
    """One of the two streams."""

    def __init__(self, pass_on: Callable[[str], object]) -> None:
        self._pass_on = pass_on
        self._lines: deque[str] = deque()
        self._rest = b""
        self._size = 0
        self.truncated = False

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._keep(line)

    def end(self) -> None:
        if self._rest:
            self._keep(self._rest)
            self._rest = b""

    def _keep(self, data: bytes) -> None:
        line = clean(data.decode("utf-8", "replace").rstrip("\r"), LONGEST_LINE)
        self._pass_on(line)
        self._lines.append(line)
        self._size += len(line) + 1
        while len(self._lines) > LAST_LINES or (self._size > LAST_BYTES and len(self._lines) > 1):
            self._size -= len(self._lines.popleft()) + 1
            self.truncated = True


def run_environment(run: RunContext) -> dict[str, str]:
    """What the command knows of its run."""
    named = {
        "JOB_ID": run.job_id,
        "JOB_NAME": run.job_name,
        "RUN_ID": run.run_id,
        "ATTEMPT": str(run.attempt),
        "SCHEDULED_AT": iso(run.scheduled_at),
        "TRIGGER": str(run.trigger),
        "MISSED": "true" if run.missed else "false",
        "IDEMPOTENCY_KEY": run.idempotency_key,
    }
    return {f"SEXTON_{name}": value.replace("\0", "") for name, value in named.items()}


def judge(shell: ShellTarget, code: int, command: Command) -> Outcome:
    said, wrong = command.output, command.errors
    if code in (shell.success_codes or (0,)):
        result: dict[str, object] = {"exit_code": code, "output": said.text}
        if said.truncated:
            result["truncated"] = True
        return Success(result)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    last = wrong.text.strip() or said.text.strip()
    return Failure(f"{how}: {last}" if last else how, permanent=code in shell.permanent_codes)


async def _start(
    shell: ShellTarget, environment: dict[str, str], command: Command
) -> asyncio.SubprocessTransport:
    words = shell.words
    program = shutil.which(words[0], path=environment.get("PATH"))
    if program is None:
        raise Refused(f"there is no program {words[0]} on this worker's machine")
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: command,
            program,
            *words[1:],
            cwd=shell.directory,
            env=environment,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise Refused(f"the command cannot be started: {error}") from None
    return transport


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """A command that does not read its input does not need it."""
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(data)
    pipe.write_eof()


async def _end(transport: asyncio.SubprocessTransport, command: Command) -> None:
    """The whole group: politely, then not."""
    if not command.exited.done():
        _signal(transport, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(command.exited), END_SECONDS)
    _signal(transport, signal.SIGKILL)
    await command.exited


def _signal(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    pid = transport.get_pid()
    if pid is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
