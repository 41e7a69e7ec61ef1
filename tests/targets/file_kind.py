"""A kind of target as another package would bring it: a line for each run, appended to a file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import Outcome, Success
from sexton.targets.base import TargetKind, TargetServices
from sexton.targets.run import RunContext, Step

FOLDERS = "FILE_TARGET_FOLDERS"


class FileTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line in a file."""

    path: Annotated[str, Meta(description="The whole path of the file.", examples=["/srv/log/runs"])]
    copies: Annotated[int, Meta(ge=1, le=10, description="How many lines a run appends.")] = 1


class FileKind(TargetKind[FileTarget]):
    name = "file"
    spec = FileTarget
    example: ClassVar[Any] = {"path": "/srv/log/runs"}
    how_to_serve = f"start one with {FOLDERS}={{need}}"
    takes_dead_letters = True

    def check(self, spec: FileTarget, payload: Any, field: str) -> None:
        if not spec.path.startswith("/"):
            raise InvalidField(
                "bad_path", f"{spec.path!r} is not a whole path", field=f"{field}.path", hint="begin with /"
            )

    def warnings(self, spec: FileTarget, field: str) -> list[str]:
        return [f"{field}.path: nothing empties it"] if spec.path.endswith(".log") else []

    def need(self, spec: FileTarget) -> str:
        return str(Path(spec.path).parent)

    def served(self, settings: Settings) -> list[str]:
        return [folder for folder in os.environ.get(FOLDERS, "").split(":") if folder]

    def open(self, services: TargetServices) -> OpenFile:
        return OpenFile()


class OpenFile:
    def step(self, spec: FileTarget) -> Step:
        return partial(self._append, spec)

    async def _append(self, spec: FileTarget, run: RunContext) -> Outcome:
        with Path(spec.path).open("a", encoding="utf-8") as file:
            for _ in range(spec.copies):
                file.write(f"{run.run_id} {run.payload_json}\n")
        return Success({"lines": spec.copies})

    async def close(self) -> None:
        pass
