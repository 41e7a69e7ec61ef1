"""Starts a command and ends everything that the command started. Linux only.

A signal to a process group does not reach a process that has left the group (by setsid, or by a double fork).
So the supervisor is a child subreaper: the kernel makes it the parent of every descendant whose own parent
has ended, so nothing leaves its tree. SIGTERM asks the command to end; SIGINT kills the tree. After the
command has ended, the supervisor kills the other processes, and ends with the command's exit code or by its
signal.

It is a separate program, started as `python -I -S /proc/self/fd/N LOGIN FD DIRECTORY PROGRAM WORD…`; the
worker has the text of this file in N. It imports only modules that load fast. LOGIN is `-`, or `uid:gid,gid…`
of the account of the command. The supervisor keeps its own account, so that such a command cannot end it. The
values of a job do not reach the supervisor itself: the command's environment is in the file FD, and the
supervisor enters DIRECTORY as that account.
"""

import ctypes
import os
import signal
import sys
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
# A process that the kernel does not release must not block a run for ever.
MOST_SECONDS = 5
PAUSE_SECONDS = 0.01
# How often children are killed between two looks at the whole tree.
MOST_KILLS = 1000
CANNOT_START = 126


def main(login: str, descriptor: int, directory: str, program: str, words: list[str]) -> None:
    with open(descriptor, "rb") as file:
        environment = dict(each.split(b"=", 1) for each in file.read().split(b"\0") if each)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Until both handlers know the command, signals wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
    command = os.fork()
    if not command:
        start(login, directory, program, words, environment)
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


def start(
    login: str, directory: str, program: str, words: list[str], environment: dict[bytes, bytes]
) -> None:
    what = program
    try:
        os.setsid()
        if login != "-":
            user, _, groups = login.partition(":")
            numbers = [int(group) for group in groups.split(",")]
            os.setgroups(numbers)
            os.setgid(numbers[0])
            os.setuid(int(user))
        if directory:
            what = directory
            os.chdir(directory)
            what = program
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
        os.execve(program, words, environment)
    except OSError as error:
        os.write(2, f"the command cannot be started: {error.strerror}: {what}\n".encode())
    os._exit(CANNOT_START)


def wait_for(command: int) -> int:
    while True:
        process, status = os.wait()
        if process == command:
            return status


def end_the_rest() -> None:
    """Kill what is left, until nothing is left that may be killed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGALRM))
    signal.alarm(MOST_SECONDS)
    kill_the_rest()
    signal.alarm(0)
    signal.sigtimedwait((signal.SIGALRM,), 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))


def kill_the_rest() -> None:
    while reap() and signal.SIGALRM not in signal.sigpending():
        sent = [send(process, signal.SIGKILL) for process in descendants()]
        if sent and not any(sent):
            return
        # A process that forks and ends is gone before it is found in the tree, but each of its children
        # comes here, and looking at our children is faster than forking.
        for _ in range(MOST_KILLS):
            for process in children():
                send(process, signal.SIGKILL)
            if not reap():
                return
        signal.sigtimedwait((signal.SIGCHLD,), PAUSE_SECONDS)


def reap() -> bool:
    """Whether there are children, once those that have ended are gone."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


def children() -> list[int]:
    """Of this process; none where the kernel has no such list."""
    try:
        with open("/proc/thread-self/children", "rb") as file:  # noqa: PTH123
            return [int(each) for each in file.read().split()]
    except FileNotFoundError:
        return []


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


def send(process: int, number: int) -> bool:
    """Send a signal; returns whether that is permitted. A process that has ended meanwhile is no error."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


if __name__ == "__main__":
    os.close(int(sys.argv[0].rpartition("/")[2]))
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
