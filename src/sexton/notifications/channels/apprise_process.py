"""The process in which Apprise runs: it reads one message per line and writes one result per line.

An address of Apprise can name more than a service: files of this machine (as a template, as a key), and with
some services a program. This process refuses them. It reads its code and no other file, starts no program and
changes nothing, and every socket connects to the address that was checked (`sexton.connections.guard`).
"""

from __future__ import annotations

import json
import logging
import mimetypes
import os
import socket
import sys
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sexton.connections.guard import Guard, RefusedAddress

#: Events of the interpreter by which a program is started, or what is on the disk is changed.
REFUSED_ACTS = frozenset(
    {
        "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn",
        "subprocess.Popen", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename",
        "os.rmdir", "os.symlink", "os.truncate",
    }
)  # fmt: skip


def guard_sockets(guard: Guard, refused: list[str]) -> None:
    """From now on, refuse forbidden addresses for all sockets of this process, those of TLS as well.
    `refused` gets the refusals."""

    def checked(self: socket.socket, address: Any) -> Any:
        """The address, with the checked one in place of a name: a name may change its address until it is
        connected to."""
        try:
            if self.family not in (socket.AF_INET, socket.AF_INET6):
                raise RefusedAddress("sockets of this machine are not reached")
            host, *rest = address
            found = [str(each[4][0]) for each in socket.getaddrinfo(host, rest[0], self.family, self.type)]
            for each in found:
                guard.check(each)
        except RefusedAddress as error:
            refused.append(str(error))
            raise
        return (found[0], *rest)

    def guarded(method: Callable[..., Any], place: int) -> Callable[..., Any]:
        """The method, whose argument in this place is an address."""

        def call(self: socket.socket, *arguments: Any) -> Any:
            given = list(arguments)
            if -len(given) <= place < len(given) and isinstance(given[place], str | bytes | tuple):
                given[place] = checked(self, given[place])
            return method(self, *given)

        return call

    plain: Any = socket.socket
    for name, place in (("connect", 0), ("connect_ex", 0), ("sendto", -1), ("sendmsg", 3)):
        setattr(plain, name, guarded(getattr(plain, name), place))


def guard_machine(refused: list[str]) -> None:
    """From now on, this process opens no file but its code, and starts no program."""
    code = [Path(each).resolve() for each in (*sys.path, *zoneinfo.TZPATH) if each]

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event in REFUSED_ACTS:
            what = "nothing is started or changed on this machine"
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path, _, flags = arguments
            reads = flags is None or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if reads and any(map(Path(os.fsdecode(path)).resolve().is_relative_to, code)):
                return
            what = "files of this machine are not opened"
        else:
            return
        refused.append(what)
        raise PermissionError(what)

    sys.addaudithook(check)


class LastWords(logging.Handler):
    """Collects the log of Apprise, which has the reasons of failures."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.words.append(record.getMessage())


def answer(question: dict[str, str], words: LastWords, refused: list[str]) -> dict[str, Any]:
    import apprise

    words.words.clear()
    refused.clear()
    service = apprise.Apprise.instantiate(question["url"], suppress_exceptions=True)
    if service is None:
        return {"refused": "Apprise does not know this address"}
    told = bool(service.notify(body=question["body"] or question["title"], title=question["title"]))
    if told:
        return {"sent": True}
    if refused:
        return {"refused": refused[0]}
    return {"failed": "; ".join(words.words) or "Apprise could not send it"}


def main() -> None:
    from apprise.manager_attachment import AttachmentManager

    refused: list[str] = []
    # Else the answer would tell whether a file exists.
    attachments: Any = AttachmentManager
    attachments().remove("file")
    mimetypes.init()  # it reads files of the machine
    sys.dont_write_bytecode = True
    guard_sockets(Guard(private=sys.argv[1:] == ["private"]), refused)
    guard_machine(refused)
    words = LastWords()
    log = logging.getLogger("apprise")
    log.addHandler(words)
    log.propagate = False
    out, sys.stdout = sys.stdout, sys.stderr  # output of plug-ins must not mix with answers
    for line in sys.stdin:
        try:
            said = answer(json.loads(line), words, refused)
        except Exception as error:
            said = {"failed": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(said) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
