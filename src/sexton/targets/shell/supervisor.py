"""Starts a command and ends everything that the command started. Linux only.

A process that has left its process group (by setsid, or by forking twice) cannot be found by a signal to the
group. The supervisor is therefore a child subreaper: the kernel makes it the parent of every descendant whose
own parent has ended, so nothing leaves its tree. SIGTERM asks the command to end; SIGINT kills the tree. Once
the command has ended the supervisor kills what is left, and ends with the command's exit code or by its
signal.

It is a program of its own, started as `python -I -S supervisor.py LOGIN PROGRAM WORD…`. It imports only what
starts fast. LOGIN is `-`, or `uid:gid,gid…` of the account that the command runs as. The supervisor keeps its
own account, so that such a command cannot end it.
"""

import ctypes
import os
import signal
import sys
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
# A process that the kernel does not let go of, or that may not be killed, must not keep a run for ever.
MOST_ROUNDS = 500
ROUND_SECONDS = 0.01
CANNOT_START = 126


def main(login: str, program: str, words: list[str]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Until both handlers know the command, signals wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
    command = os.fork()
    if not command:
        start(login, program, words)
    os.close(0)
    os.close(1)

    def ask(number: int, frame: FrameType | None) -> None:
        send(-command, signal.SIGTERM)

    def kill(number: int, frame: FrameType | None) -> None:
        for process in descendants():
            send(process, signal.SIGKILL)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, kill)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
    status = wait_for(command)
    end_the_rest()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def start(login: str, program: str, words: list[str]) -> None:
    try:
        os.setsid()
        if login != "-":
            user, _, groups = login.partition(":")
            numbers = [int(group) for group in groups.split(",")]
            os.setgroups(numbers)
            os.setgid(numbers[0])
            os.setuid(int(user))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
        os.execv(program, words)
    except OSError as error:
        os.write(2, f"the command cannot be started: {error.strerror}: {program}\n".encode())
    os._exit(CANNOT_START)


def wait_for(command: int) -> int:
    while True:
        process, status = os.wait()
        if process == command:
            return status


def end_the_rest() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
    for _ in range(MOST_ROUNDS):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for process in descendants():
            send(process, signal.SIGKILL)
        signal.sigtimedwait((signal.SIGCHLD,), ROUND_SECONDS)


def descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        try:
            with open(f"{entry.path}/stat", "rb") as file:  # noqa: PTH123 (pathlib starts slowly)
                # The name of the program is in parentheses, and may contain some.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found = list(children.get(os.getpid(), ()))
    for process in found:
        found += children.get(process, ())
    return found


def send(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
