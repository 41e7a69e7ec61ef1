"""A kind of target: everything about it, from the fields of its specification to the step of a run.

A kind is registered in `sexton.targets.table`, or comes from another package: by an entry point of the group
`sexton.targets`, or by its dotted path in the setting `targets`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import Meta

from sexton.errors import InvalidField

if TYPE_CHECKING:
    from sexton.config import Settings
    from sexton.postgres.database import Database
    from sexton.targets.handler import Handler
    from sexton.targets.http.outbound import Outbound
    from sexton.targets.providers import Resources
    from sexton.targets.renderer import Renderer
    from sexton.targets.run import RunContext, Step

# Seconds that trying a target out may take.
LONGEST_TRIAL = 60.0

# A target in a job, as JSON: an object with one key, the name of its kind.
TargetJson = Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/Target"})]
Spec = TypeVar("Spec")


class Refused(Exception):
    """The other side refuses, and would refuse again: the run is not tried again."""


class TargetKind(ABC, Generic[Spec]):
    """One kind of target. In a job it is `{name: spec}`, as JSON."""

    name: ClassVar[str]
    #: The type under the name. Every field has a description, `Annotated[…, Meta(description=…)]`: the
    #: documentation, the OpenAPI schema and the hints of refusals follow from it.
    spec: ClassVar[Any]
    #: A value of `spec` as JSON has it, for hints and documentation.
    example: ClassVar[Any]
    #: What to do where no worker serves such a target; `{need}` is what is needed.
    how_to_serve: ClassVar[str] = "start one"
    #: Whether dead letters can be sent to it.
    takes_dead_letters: ClassVar[bool] = False
    #: Whether its runs cannot end the process of the worker: it calls no code of others there.
    harmless: ClassVar[bool] = False

    @abstractmethod
    def open(self, services: TargetServices) -> OpenKind:
        """What carries runs out in this process. Called once per process; it imports what takes long."""

    def configure(self, settings: Settings) -> None:
        """Read the settings that the kind needs in every process. Raises `InvalidField`."""

    def check(self, spec: Spec, payload: Any, field: str) -> None:
        """Refuse, with `InvalidField`, a specification that has the right type but that no run could carry
        out. `field` is its path, such as `target.http`."""

    def check_letters(self, spec: Spec, field: str) -> None:
        """Of a kind that takes dead letters: refuse a specification that cannot take them."""

    def warnings(self, spec: Spec, field: str) -> list[str]:
        """Warnings about what is allowed but probably a mistake."""
        return []

    def need(self, spec: Spec) -> str:
        """What a worker needs to carry it out, such as the client of a broker; "": nothing beside the kind.
        Kind and need together are the lane that a worker serves."""
        return ""

    def served(self, settings: Settings) -> Collection[str]:
        """The needs that a worker with these settings can meet."""
        return ("",)

    def load(self, need: str) -> None:
        """Import what runs with this need use, beside what `open` has imported. A worker calls it as soon as
        there are such jobs: an upgrade may replace the files before their runs."""


class OpenKind(Protocol):
    """A kind of target in a process that carries runs out."""

    def step(self, spec: Any) -> Step | None:
        """What carries a run out; None: this process cannot. The steps of a worker are kept by target."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class HearsOfDead(Protocol):
    """An `OpenKind` may have this method, to learn which of its runs are dead: also those that ended the
    process of their worker again and again, and could not report it themselves."""

    async def given_up(self, run: RunContext, error: str) -> None:
        """Called again until it has returned once, also after a crash."""
        ...


@dataclass(frozen=True, slots=True)
class TargetServices:
    """What a process lends to the kinds of target that it opens."""

    settings: Settings
    database: Database
    #: The guarded way out, for requests over HTTP.
    outbound: Outbound
    renderer: Renderer
    handlers: Mapping[str, Handler]
    #: What the providers of the application make.
    resources: Resources


@dataclass(frozen=True, slots=True)
class Target:
    """A target that was read: its kind, and the value under the name of the kind."""

    kind: TargetKind[Any]
    spec: Any

    @property
    def need(self) -> str:
        return self.kind.need(self.spec)

    @property
    def lane(self) -> str:
        return lane_name(self.kind.name, self.need)

    def to_json(self) -> dict[str, Any]:
        """As it is stored: without defaults."""
        return {self.kind.name: msgspec.to_builtins(self.spec)}


def lane_name(kind: str, need: str) -> str:
    """The name of a lane: `http`, `message:redis`, `shell:/bin/sh`."""
    return f"{kind}:{need}" if need else kind


def refuse(code: str, message: str, field: str, hint: str) -> InvalidField:
    """What `check` of a kind raises."""
    return InvalidField(code, message, field=field, hint=hint)
