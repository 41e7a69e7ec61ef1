"""`manage.py sexton …`: Sexton's command line, with the settings of the project."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from django.core.management.base import BaseCommand, CommandError  # type: ignore[import-untyped]

from sexton.cli import main, run
from sexton.contrib.django.conf import environment

# Options that Django reads before the command begins.
OF_DJANGO = ("--settings", "--pythonpath")


class SextonCommand(BaseCommand):  # type: ignore[misc]
    help = (
        "Sexton's command line with the settings of this project: manage.py sexton up starts it, "
        "manage.py sexton --help lists the commands."
    )
    # Sexton must start, and report its own errors, even if checks of the project fail.
    requires_system_checks: ClassVar[list[str]] = []

    def run_from_argv(self, argv: Sequence[str]) -> NoReturn:
        """Pass all options to Sexton: Django's own --version and --help would hide those of Sexton."""
        with project_environment():
            main(without_django(argv[2:]))

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what to pass on to sexton")

    def handle(self, *_: Any, arguments: Sequence[str], **options: Any) -> None:
        """For `call_command("sexton", "jobs", "list")`, which may redirect the output."""
        with project_environment(), contextlib.ExitStack() as stack:
            if self.stdout._out is not sys.stdout:
                stack.enter_context(contextlib.redirect_stdout(stack.enter_context(_gathered(self.stdout))))
            if self.stderr._out is not sys.stderr:
                stack.enter_context(contextlib.redirect_stderr(stack.enter_context(_gathered(self.stderr))))
            code = run(list(arguments))
        if code:
            raise CommandError(f"sexton {' '.join(arguments[:2])} ended with {code}", returncode=code)


#: The name that Django looks for.
Command = SextonCommand


@contextlib.contextmanager
def project_environment() -> Iterator[None]:
    """In the block, the settings of the project are in the environment, where `sexton` reads settings."""
    before = dict(os.environ)
    os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _gathered(wanted: Any) -> Iterator[io.TextIOWrapper]:
    """Collect the output: Sexton writes bytes, and the stream that Django was given may accept only text."""
    gathered = io.BytesIO()
    text = io.TextIOWrapper(gathered, "utf-8", write_through=True)
    try:
        yield text
    finally:
        wanted.write(gathered.getvalue().decode(), ending="")


def without_django(tokens: Sequence[str]) -> list[str]:
    left: list[str] = []
    follows = False
    for token in tokens:
        if not follows and token.partition("=")[0] not in OF_DJANGO:
            left.append(token)
        follows = not follows and token in OF_DJANGO
    return left
