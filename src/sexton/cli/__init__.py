"""The command `sexton`.

Exit codes, fixed:

    0    done
    1    not done: what was asked for is not there, or `diff --exit-code` found a difference
    2    refused: wrong usage, or a schedule or time that cannot be read
    130  interrupted

Answers go to the standard output, everything else to the standard error. With `--json` an error is also
answered as one object, `{"error": {"code", "message", …}}`; `next --jsonl` answers a bad line like that, goes
on, and ends with 0.

The commands are a literal table, loaded when called; the overview is printed from the table alone, because
importing the command line library takes half of the 150 ms that `sexton --help` may take.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from sexton import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App

DONE, NOT_DONE, REFUSED = 0, 1, 2


class Command(NamedTuple):
    path: str
    summary: str


COMMANDS = {
    "next": Command(
        "sexton.cli.schedules:next_occurrences", "Show when a schedule fires next, in words and as a table."
    ),
    "diff": Command("sexton.cli.schedules:diff", "Show where two schedules differ in a range of time."),
    "up": Command("sexton.cli.up:up", "Start Sexton on this machine."),
    "node": Command("sexton.cli.node:node", "Run one node in the given roles until it is told to stop."),
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = run(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`sexton next … | head`): nothing is wrong, and nobody is there to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    sys.exit(code)


def run(tokens: list[str]) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a dash must not turn an answer into a traceback.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    if tokens in ([], ["--help"], ["-h"]):
        print(_overview())
        return DONE
    if tokens == ["--version"]:
        print(__version__)
        return DONE

    import zoneinfo

    from cyclopts import CycloptsError

    from sexton.cli.output import RefusedError, show_refusal, show_usage_error

    # Every node must use the tzdata wheel: the operating system's copy may be older on one than on another.
    zoneinfo.reset_tzpath(to=())
    try:
        result = app()(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        show_usage_error(str(error), as_json="--json" in tokens)
        return REFUSED
    except RefusedError as refused:
        show_refusal(refused, as_json="--json" in tokens)
        return REFUSED
    return result if isinstance(result, int) else DONE


def app() -> App:
    """All commands, none of them loaded yet."""
    from cyclopts import App, Parameter

    root = App(
        name="sexton",
        help="A distributed scheduler.",
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for name, command in COMMANDS.items():
        root.command(command.path, name=name)
    return root


def _overview() -> str:
    commands = "\n".join(f"  {name:<8}{command.summary}" for name, command in COMMANDS.items())
    return f"""\
Usage: sexton COMMAND

A distributed scheduler: fires every job on time in its own time zone.

Commands:
{commands}

Options:
  --help     Show this, or what a command takes: sexton COMMAND --help
  --version  Show the version.

Exit codes:
  0    done
  1    not done, or `diff --exit-code` found a difference
  2    refused: wrong usage, or a schedule or time that cannot be read
  130  interrupted"""
