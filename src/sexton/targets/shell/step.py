"""The shell target: a command on the worker's machine, in a session of its own.

A worker serves only the programs that its settings allow. It finds them when it starts: a job cannot change
which file a name stands for. The command gets the payload on its standard input. Its environment has the ids
of its run, and the variables of the job that the settings allow. Of the worker's environment it sees where
programs and homes are, and nothing else: the worker's settings and secrets stay hidden. Its output goes into
the run's log. When its time is up it gets SIGTERM, and SIGKILL if it does not end. On Linux a supervisor
kills everything that the command started, also outside its process group; elsewhere Sexton kills its process
group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sexton.clock import iso
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import Failure, Outcome, Success
from sexton.targets.base import Refused, TargetServices
from sexton.targets.run import RunContext, Step, clean
from sexton.targets.shell.kind import ShellTarget

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
# A worker waits ten seconds for a run that was stopped.
END_SECONDS = 5.0
# A process that cannot be killed may keep the output open.
DRAIN_SECONDS = 2.0
SUPERVISOR = Path(__file__).with_name("supervisor.py")
# What it says, and its exit code, if it cannot start the command.
CANNOT_START, CANNOT_START_CODE = "the command cannot be started", 126
SUPERVISED = sys.platform == "linux"
LONGEST_LINE = 16 * 1024
LAST_LINES = 50
LAST_BYTES = 16 * 1024


class OpenShell:
    def __init__(self, services: TargetServices) -> None:
        settings = services.settings
        self._secrets = services.renderer.secrets
        self._use = services.renderer.use
        self._guarded = services.renderer.guarded
        self._login, self._environment = _account(settings)
        path = self._environment.get("PATH")
        # None: not on this machine.
        self._programs = {name: _program(name, path) for name in settings.allowed_commands()}
        self._variables = settings.allowed_variables()
        # Read now and kept in memory: an upgrade may replace its file later.
        self._supervisor = _kept("supervisor", SUPERVISOR.read_bytes()) if SUPERVISED else -1
        self._python = os.path.realpath(sys.executable)

    def step(self, spec: ShellTarget) -> Step | None:
        if spec.words[0] not in self._programs:
            return None
        return self._guarded(partial(self._run, spec))

    async def close(self) -> None:
        if self._supervisor >= 0:
            os.close(self._supervisor)
            self._supervisor = -1

    async def _run(self, shell: ShellTarget, run: RunContext) -> Outcome:
        program = self._programs[shell.words[0]]
        if program is None:
            raise Refused(f"there is no program {shell.words[0]} on this worker's machine")
        environment = dict(self._environment)
        for name, value in shell.environment.items():
            if not self._may_set(name):
                raise Refused(
                    f"jobs may not set the variable {name} on this worker: "
                    f"its setting shell_variables allows {', '.join(self._variables) or 'none'}"
                )
            environment[name] = await self._secrets.reveal(value, await self._use(run, "shell"))
        environment |= run_environment(run)
        mask = self._secrets.mask
        command = ShellProcess(lambda line, level: run.log(mask(line), level))
        # Cancelled half-way, asyncio would kill the command alone and wait for its children.
        starting = asyncio.ensure_future(self._start(program, shell, environment, command))
        try:
            transport = await asyncio.shield(starting)
        except asyncio.CancelledError:
            transport = await starting
            await _end(transport, command)
            transport.close()
            raise
        _feed(transport, (run.payload_json or "").encode())
        try:
            await asyncio.shield(command.exited)
            # Background processes of the command may keep its output open.
            _kill(transport)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(command.closed), DRAIN_SECONDS)
        finally:
            await _end(transport, command)
            transport.close()
            command.end()
        code = transport.get_returncode()
        assert code is not None
        return judge(shell, code, command)

    def _may_set(self, name: str) -> bool:
        return any(
            name.startswith(each[:-1]) if each.endswith("*") else name == each for each in self._variables
        )

    async def _start(
        self, program: str, shell: ShellTarget, environment: dict[str, str], command: ShellProcess
    ) -> asyncio.SubprocessTransport:
        start = partial(asyncio.get_running_loop().subprocess_exec, lambda: command)
        words = [program, *shell.words[1:]]
        if not SUPERVISED:
            try:
                transport, _ = await start(
                    *words, cwd=shell.directory, env=environment, start_new_session=True
                )
            except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
                raise Refused(f"{CANNOT_START}: {error}") from None
            return transport
        supervisor = [self._python, "-I", "-S", f"/proc/self/fd/{self._supervisor}", self._login]
        variables = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items())
        number = _kept("environment", variables)
        try:
            transport, _ = await start(
                *supervisor, str(number), shell.directory or "", program, *words,
                env={}, pass_fds=(self._supervisor, number), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(number)
        return transport


class ShellProcess(asyncio.SubprocessProtocol):
    """A running command. It passes every line of output on, and keeps the last ones."""

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
        """The command has exited and all its pipes are closed."""
        if not self.closed.done():
            self.closed.set_result(None)

    def end(self) -> None:
        """Nothing more is said."""
        self.output.end()
        self.errors.end()


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


def judge(shell: ShellTarget, code: int, command: ShellProcess) -> Outcome:
    said, wrong = command.output, command.errors
    if code in (shell.success_codes or (0,)):
        result: dict[str, object] = {"exit_code": code, "output": said.text}
        if said.truncated:
            result["truncated"] = True
        return Success(result)
    if wrong.text.startswith(CANNOT_START) and code == CANNOT_START_CODE:
        return Failure(wrong.text, permanent=True)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    last = wrong.text.strip() or said.text.strip()
    return Failure(f"{how}: {last}" if last else how, permanent=code in shell.permanent_codes)


def _kept(name: str, content: bytes) -> int:
    """The descriptor of a file in memory, at its start."""
    number = os.memfd_create(name)
    with os.fdopen(number, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(number, 0, os.SEEK_SET)
    return number


def _account(settings: Settings) -> tuple[str, dict[str, str]]:
    """How the supervisor is told the account of commands, and the variables that they inherit."""
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if "PATH" in environment:
        # A relative part would be looked up in the directory that a job names.
        parts = environment["PATH"].split(os.pathsep)
        environment["PATH"] = os.pathsep.join(filter(os.path.isabs, parts))
    name = settings.shell_user
    if name is None or not settings.allow_shell:
        return "-", environment
    try:
        entry = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        raise _bad_user(f"there is no account {name} on this machine", "name one, or leave it out") from None
    if not SUPERVISED:
        raise _bad_user("shell_user needs Linux", "leave it out, and run the worker as that account")
    if os.geteuid() != 0 and entry.pw_uid != os.geteuid():
        raise _bad_user(
            f"only root can run commands as {name}", f"start the worker as root, or as {name} itself"
        )
    environment |= {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}
    if os.geteuid() != 0:
        return "-", environment
    others = [group for group in os.getgrouplist(entry.pw_name, entry.pw_gid) if group != entry.pw_gid]
    return f"{entry.pw_uid}:{','.join(map(str, [entry.pw_gid, *others]))}", environment


def _bad_user(problem: str, hint: str) -> InvalidField:
    return InvalidField("bad_config", problem, field="shell_user", hint=hint)


def _program(name: str, path: str | None) -> str | None:
    found = shutil.which(name, path=path)
    return None if found is None else str(Path.cwd() / found)


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    """Write the whole input. A command may end without reading it."""
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(data)
    pipe.write_eof()


async def _end(transport: asyncio.SubprocessTransport, command: ShellProcess) -> None:
    """End the command and all its processes: with SIGTERM, then by force."""
    if not command.exited.done():
        _signal(transport, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(command.exited), END_SECONDS)
    _kill(transport)
    await command.exited


def _kill(transport: asyncio.SubprocessTransport) -> None:
    """A supervisor must live on, to end the processes that have left the group."""
    _signal(transport, signal.SIGINT if SUPERVISED else signal.SIGKILL)


def _signal(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    pid = transport.get_pid()
    if pid is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
