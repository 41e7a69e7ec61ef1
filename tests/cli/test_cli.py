"""The command as a whole: overview, version, exit codes, what it loads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import sexton as package
from sexton import cli
from sexton.cli.table import COMMANDS, GROUPS, Command

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

INSTALLED = Path(sys.executable).parent / "sexton"


@pytest.mark.parametrize(
    "command", [[str(INSTALLED)], [sys.executable, "-m", "sexton"]], ids=["script", "module"]
)
def test_the_installed_command_answers(command: list[str]) -> None:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == package.__version__


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_overview_names_every_command(sexton: Sexton, arguments: tuple[str, ...]) -> None:
    result = sexton(*arguments)
    assert (result.code, result.err) == (0, "")
    for name, command in COMMANDS.items():
        assert f"  {name:<9}{command.summary}" in result.out
    for name in GROUPS:
        assert f"\n  {name} " in result.out
    assert "Exit codes" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_the_overview_breaks_no_name_of_a_command(sexton: Sexton) -> None:
    assert not re.search("-$", sexton("--help").out, re.MULTILINE)


def test_a_namespace_is_no_option_but_a_variable(sexton: Sexton) -> None:
    refused = sexton("jobs", "list", "--namespace", "billing")
    assert (refused.code, "SEXTON_NAMESPACE=… before it" in refused.err) == (2, True)


PARTS = [(group, verb) for group in GROUPS for verb in GROUPS[group].commands]


def test_every_command_loads_and_has_the_summary_of_the_overview() -> None:
    app = cli.app()
    commands: dict[tuple[str, ...], Command] = {(name,): command for name, command in COMMANDS.items()}
    commands |= {(group, verb): GROUPS[group].commands[verb] for group, verb in PARTS}
    for names, command in commands.items():
        part = app
        for name in names:
            part = part[name]
        assert part.default_command is not None
        assert (part.default_command.__doc__ or "").splitlines()[0].startswith(command.summary)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
@pytest.mark.parametrize("group", list(GROUPS))
def test_a_group_lists_its_commands(sexton: Sexton, group: str, arguments: tuple[str, ...]) -> None:
    result = sexton(group, *arguments)
    assert (result.code, result.err) == (0, "")
    for verb, command in GROUPS[group].commands.items():
        assert re.search(rf"^  {verb} +{re.escape(command.summary)}$", result.out, re.MULTILINE)
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize("names", [*((name,) for name in COMMANDS), *PARTS], ids=" ".join)
def test_help_of_a_command_fits_the_terminal(sexton: Sexton, names: tuple[str, ...]) -> None:
    result = sexton(*names, "--help")
    assert result.code == 0
    assert f"Usage: sexton {' '.join(names)}" in result.out
    assert max(len(line.rstrip()) for line in result.out.splitlines()) <= 80


def test_the_overview_loads_neither_the_engine_nor_the_command_line_library() -> None:
    """`sexton --help` has 150 ms; these imports alone take more than half of them."""
    assert not _loaded_by("--help") & {"cyclopts", "rich", "msgspec", "zoneinfo", "sexton.schedules"}


def test_json_does_not_load_what_is_only_for_people() -> None:
    assert "rich" not in _loaded_by("next", "0 9 * * *", "--json")
    assert "rich" not in _loaded_by("next", "--jsonl")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nonsense",), "nonsense"),
        (("next", "0 9 * * *", "--nonsense"), "--nonsense"),
        (("next", "0 9 * * *", "--gap", "nonsense"), "--gap"),
        (("next", "0 9 * * *", "--count", "six"), "--count"),
        (("next", "0 9 * * *", "extra"), "extra"),
        (("diff", "0 9 * * *"), "SECOND"),
    ],
)
def test_wrong_usage_is_refused_with_2(sexton: Sexton, arguments: tuple[str, ...], word: str) -> None:
    result = sexton(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("sexton: ")
    assert word in result.err

    error = sexton(*arguments, "--json")
    assert error.code == 2
    assert error.json()["error"]["code"] == "bad_usage"
    assert word in error.json()["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nonsense",), "  sexton --help shows"),
        (("diff", "0 9 * * *"), "  sexton diff --help shows"),
        (("jobs", "nonsense"), "  sexton jobs --help shows"),
        (("jobs", "list", "--status", "asleep"), "  sexton jobs list --help shows"),
    ],
)
def test_wrong_usage_says_whose_help_to_ask(sexton: Sexton, arguments: tuple[str, ...], told: str) -> None:
    assert told in sexton(*arguments).err


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "sexton", "next", "* * * * *", "--count", "10000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_colours_are_for_terminals() -> None:
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "sexton", "next", "0 9 * * *"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        environment.pop(name, None)
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"\x1b[" in shown
    assert b"\x1b" not in subprocess.check_output(command, env=environment)


def test_a_terminal_without_unicode_gets_an_answer() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "sexton", "next", "75 * * * *"],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"sexton: ")
    assert b"Traceback" not in done.stderr


def _loaded_by(*arguments: str) -> set[str]:
    script = (
        "import sys; from sexton import cli\n"
        f"cli.run({list(arguments)!r})\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands_and_options(shell: Literal["bash", "zsh", "fish"]) -> None:
    script = cli.app().generate_completion(prog_name="sexton", shell=shell)
    assert all(word in script for word in ("backfill", "redrive", "retry-backoff"))
