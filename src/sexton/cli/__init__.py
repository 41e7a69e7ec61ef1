"""The command `sexton`.

Exit codes, fixed:

    0    done
    1    not done: the object does not exist, the server does not answer, or the answer is negative
         (`diff --exit-code` found a difference, `runs wait` saw no success, `status` a problem)
    2    refused: wrong usage, or a field, schedule or time that cannot be read
    130  interrupted

Answers go to the standard output, everything else to the standard error. With `--json` an error is also
printed as one object, `{"error": {"code", "message", …}}`. `next --jsonl` answers a bad line like that,
continues, and ends with 0.

The commands are a literal table, and each is loaded when it is called. The overview is printed from the table
alone: importing the command line library takes half of the 150 ms that `sexton --help` may take.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, NoReturn

from sexton import __version__
from sexton.cli.table import COMMANDS, GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App, CycloptsError

DONE, NOT_DONE, REFUSED, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = run(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`sexton next … | head`): this is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    sys.exit(code)


def run(tokens: list[str]) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not turn an answer into a traceback.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    if tokens in ([], ["--help"], ["-h"]):
        print(_overview())
        return DONE
    if tokens and tokens[0] in GROUPS and tokens[1:] in ([], ["--help"], ["-h"]):
        print(_group_overview(tokens[0]))
        return DONE
    if tokens == ["--version"]:
        print(__version__)
        return DONE

    import zoneinfo

    from cyclopts import CycloptsError

    from sexton.cli.output import RefusedError, show_error, show_refusal, show_usage_error
    from sexton.errors import InvalidField, SextonError

    # Every node must use the tzdata wheel: the operating system's copy may be older on one than on another.
    zoneinfo.reset_tzpath(to=())
    try:
        result = app()(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        hint = _usage_hint(error, tokens)
        show_usage_error(_usage_message(error), hint, as_json="--json" in tokens)
        return REFUSED
    except RefusedError as refused:
        show_refusal(refused, as_json="--json" in tokens)
        return REFUSED
    except SextonError as error:
        show_error(error, as_json="--json" in tokens)
        return REFUSED if isinstance(error, InvalidField) else NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


def _usage_message(error: CycloptsError) -> str:
    from cyclopts import UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"one argument too many: {error.unused_tokens[0]}"
    return str(error)


def _usage_hint(error: CycloptsError, tokens: list[str]) -> str:
    from cyclopts import UnknownOptionError

    if isinstance(error, UnknownOptionError) and error.token.keyword == "--namespace":
        return "the namespace of a command is SEXTON_NAMESPACE=… before it"
    return f"sexton {_command_of(tokens)}--help shows what it takes"


def _command_of(tokens: list[str]) -> str:
    """The words of the command, as far as they are known: `jobs add `."""
    first, second = (*tokens, "", "")[:2]
    if first in GROUPS:
        return f"{first} {second} " if second in GROUPS[first].commands else f"{first} "
    return f"{first} " if first in COMMANDS else ""


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
    for name in COMMANDS:
        root.command(f"sexton.cli.load:{name}", name=name)
    for name, group in GROUPS.items():
        part = App(name=name, help=group.summary)
        for verb in group.commands:
            part.command(f"sexton.cli.load:{name} {verb}", name=verb)
        root.command(part)
    root.register_install_completion_command(help="Complete commands and options with the Tab key.")
    return root


def _overview() -> str:
    commands = "\n".join(f"  {name:<9}{command.summary}" for name, command in COMMANDS.items())
    groups = "\n".join(
        textwrap.fill(
            ", ".join(group.commands),
            79,
            initial_indent=f"  {name:<12}",
            subsequent_indent=" " * 14,
            break_on_hyphens=False,
        )
        for name, group in GROUPS.items()
    )
    return f"""\
Usage: sexton COMMAND

A distributed scheduler: fires every job on time in its own time zone.

Commands:
{commands}

Commands of several parts, like sexton jobs list:
{groups}

Options:
  --help                Show this; of a command: sexton COMMAND --help
  --version             Show the version.
  --install-completion  Complete commands and options with the Tab key.

Environment:
  SEXTON_URL        The server. Default: the one running on this machine.
  SEXTON_API_KEY    The key it needs, if it needs one.
  SEXTON_NAMESPACE  Whose jobs, where the key may see several namespaces.

Exit codes:
  0    done
  1    not done, or `diff --exit-code` found a difference
  2    refused: wrong usage, or a schedule or time that cannot be read
  130  interrupted"""


def _group_overview(name: str) -> str:
    group = GROUPS[name]
    width = max(map(len, group.commands)) + 2
    commands = "\n".join(f"  {verb:<{width}}{command.summary}" for verb, command in group.commands.items())
    return f"""\
Usage: sexton {name} COMMAND

{group.summary}

Commands:
{commands}

  sexton {name} COMMAND --help shows what a command takes."""
