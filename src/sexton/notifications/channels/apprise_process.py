"""The process in which Apprise runs: it reads one message per line and writes one result per line.

Every socket of this process is checked before it connects (`sexton.connections.guard`).
"""

from __future__ import annotations

import json
import logging
import socket
import sys
from typing import Any

from sexton.connections.guard import Guard, RefusedAddress


def guard_sockets(guard: Guard) -> list[str]:
    """From now on, refuse forbidden addresses for all sockets of this process. Returns the list of
    refusals."""
    refused: list[str] = []

    class CheckedSocket(socket.socket):
        def connect(self, address: Any) -> None:
            self._check(address)
            super().connect(address)

        def connect_ex(self, address: Any) -> int:
            self._check(address)
            return super().connect_ex(address)

        def sendto(self, *arguments: Any) -> int:
            self._check(arguments[-1])
            return super().sendto(*arguments)

        def _check(self, address: Any) -> None:
            if self.family not in (socket.AF_INET, socket.AF_INET6):
                refused.append("a socket of this machine")
                raise RefusedAddress("sockets of this machine are not reached")
            try:
                guard.check(str(address[0]))
            except RefusedAddress as error:
                refused.append(str(error))
                raise
            except ValueError:
                # A name: check all its addresses, because connecting would resolve it.
                found = socket.getaddrinfo(address[0], address[1], self.family, self.type)
                for each in found:
                    guard.check(str(each[4][0]))

    socket.socket = CheckedSocket  # type: ignore[misc]
    return refused


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
    refused = guard_sockets(Guard(private=sys.argv[1:] == ["private"]))
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
