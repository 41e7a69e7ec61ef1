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

# Django has read these before the command begins.
OF_DJANGO = ("--settings", "--pythonpath")


class SextonCommand(BaseCommand):  # type: ignore[misc]
    help = (
        "Sexton's command line with the settings of this project: manage.py sexton up starts it, "
        "manage.py sexton --help lists the commands."
    )
    # Sexton is to start, and to say what is wrong with it, whatever else is not in order.
    requires_system_checks: ClassVar[list[str]] = []

    def run_from_argv(self, argv: Sequence[str]) -> NoReturn:
        """Django's own options, such as --version and --help, would hide those of Sexton."""
        with project_environment():
            main(without_django(argv[2:]))

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what to pass on to sexton")

    def handle(self, *_: Any, arguments: Sequence[str], **options: Any) -> None:
        """For `call_command("sexton", "jobs", "list")`, which may want what is printed elsewhere."""
        with project_environment(), contextlib.ExitStack() as stack:
            if self.stdout._out is not sys.stdout:
                stack.enter_context(contextlib.redirect_stdout(stack.enter_context(_gathered(self.stdout))))
            if self.stderr._out is not sys.stderr:
                stack.enter_context(contextlib.redirect_stderr(stack.enter_context(_gathered(self.stderr))))
            code = run(list(arguments))
        if code:
            raise CommandError(f"sexton {' '.join(arguments[:2])} ended with {code}", returncode=code)


#: What Django looks for.
Command = SextonCommand


@contextlib.contextmanager
def project_environment() -> Iterator[None]:
    """For the block, the settings of the project are in the environment, as those of `sexton` always are."""
    before = dict(os.environ)
    os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _gathered(wanted: Any) -> Iterator[io.TextIOWrapper]:
    """Sexton writes bytes, and what Django was given may take text alone."""
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
