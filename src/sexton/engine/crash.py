"""Crash points: named places where a test can make a process die.

`SEXTON_CRASH_AT=fire.after` ends the process with SIGKILL at the first passage, `fire.after:7` at the
seventh. Nothing is cleaned up, as when the machine loses power. Without the variable, a point costs one call.
"""

from __future__ import annotations

import logging
import os
import signal
from itertools import count

from sexton.errors import InvalidField

log = logging.getLogger("sexton")

VARIABLE = "SEXTON_CRASH_AT"
POINTS = {
    "fire.before": "the scheduler is about to send a firing",
    "fire.after": "a firing is committed, and the scheduler knows it",
    "wake.before": "a worker has been woken, and has not claimed yet",
    "claim.after": "a worker has claimed runs, and has not started them",
    "step.begun": "a target has noted what it is about to do, and has not done it",
    "step.acted": "a target has acted, and has not noted it",
    "step.noted": "a target has noted what it did, and there is more to do",
    "finish.before": "a worker is about to record outcomes",
    "finish.after": "outcomes are recorded, and the worker knows it",
}


def point(name: str) -> None:
    """Die here, if the variable names this point."""
    if name == _CHOSEN and next(_PASSAGES) == _WHICH:
        log.critical("crash point %s: this process ends itself", name)
        os.kill(os.getpid(), signal.SIGKILL)


def check(text: str | None = None) -> None:
    """Refuse a variable that names no point. Called at the start of a process."""
    text = os.environ.get(VARIABLE, "") if text is None else text
    name, _, number = text.partition(":")
    if text and (name not in POINTS or not (number or "1").isdecimal() or number == "0"):
        raise InvalidField(
            "bad_crash_point",
            f"{VARIABLE}={text} names no crash point",
            field=VARIABLE,
            hint=f"one of {', '.join(POINTS)}, and :N for the N-th passage",
        )


_CHOSEN, _, _NUMBER = os.environ.get(VARIABLE, "").partition(":")
_WHICH = int(_NUMBER) if _NUMBER.isdecimal() else 1
_PASSAGES = count(1)
