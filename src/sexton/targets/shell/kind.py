"""The kind of target `shell`: what people write, and what is refused when a job is made."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from sexton.config import Settings
from sexton.refusal import about, check_text
from sexton.security.placeholder import secret_names
from sexton.targets.base import OpenKind, TargetKind, TargetServices, refuse

SHELL = "/bin/sh"
LARGEST_SCRIPT = 64 * 1024


class ShellTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command, on workers whose settings allow it."""

    command: Annotated[
        list[str] | None,
        Meta(description="The program and its arguments.", examples=[["program", "argument"]]),
    ] = None
    script: Annotated[str | None, about("A script for /bin/sh, instead of `command`.")] = None
    environment: Annotated[dict[str, str], about("The environment variables of the command.")] = {}
    directory: Annotated[
        str | None, about("The working directory of the command. Default: that of the worker.")
    ] = None
    success_codes: Annotated[list[int] | None, about("Which exit codes are a success. Default: 0.")] = None
    permanent_codes: Annotated[list[int], about("Which exit codes end the run without another attempt.")] = []

    @property
    def words(self) -> list[str]:
        return self.command or [SHELL, "-c", self.script or ""]


class ShellKind(TargetKind[ShellTarget]):
    name = "shell"
    spec = ShellTarget
    example: ClassVar[Any] = {"command": ["program", "argument"]}
    how_to_serve = "start one with --allow-shell --shell-commands {need}"
    harmless = True

    def check(self, spec: ShellTarget, payload: Any, field: str) -> None:
        where, example = f"{field}.command", 'write "command": ["program", "argument"]'
        if (spec.command is None) == (spec.script is None):
            raise refuse("bad_target", "it takes either a command or a script", where, example)
        if spec.command is not None:
            if not spec.command or not spec.command[0].strip() or len(spec.command[0]) > 200:
                what = "the command has no program, or one with more than 200 characters"
                raise refuse("bad_target", what, where, example)
            if len(spec.command) > 1000 or sum(map(len, spec.command)) > LARGEST_SCRIPT:
                what = f"the command has more than 1000 words or {LARGEST_SCRIPT} characters"
                hint = "pass the data in the payload: the command gets it on its standard input"
                raise refuse("too_long", what, where, hint)
        else:
            check_text(spec.script or "", f"{field}.script", LARGEST_SCRIPT)
        for name, value in spec.environment.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name) or name.startswith("SEXTON_"):
                what = f"{name!r} cannot be the name of a variable here"
                hint = "use letters, digits and underscores; SEXTON_… is set by Sexton"
                raise refuse("bad_environment", what, f"{field}.environment", hint)
            secret_names(value, f"{field}.environment.{name}")
        for words in (*(spec.command or ()), *spec.environment.values(), spec.directory or ""):
            if "\0" in words:
                raise refuse("nul_character", "it has a NUL character", field, "remove it")
        if spec.directory is not None and not spec.directory.startswith("/"):
            what, hint = f"{spec.directory!r} is not an absolute path", "write /srv/reports"
            raise refuse("bad_target", what, f"{field}.directory", hint)
        for name in ("success_codes", "permanent_codes"):
            codes = getattr(spec, name)
            if not all(0 <= code <= 255 for code in codes or ()):
                hint = "list codes from 0 to 255"
                raise refuse("out_of_range", f"{name} is {codes}", f"{field}.{name}", hint)

    def need(self, spec: ShellTarget) -> str:
        return spec.words[0]

    def served(self, settings: Settings) -> list[str]:
        return settings.allowed_commands()

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.targets.shell.step import OpenShell

        return OpenShell(services)
