"""The values of content scheduling: entities, actions, states, and the changes that adapters make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

import asyncpg
import msgspec

from sexton.refusal import about


class Action(StrEnum):
    PUBLISH = "publish"
    UNPUBLISH = "unpublish"
    ARCHIVE = "archive"


class EntityState(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"
    UNPUBLISHED = "unpublished"
    ARCHIVED = "archived"


class OnFailure(StrEnum):
    """What happens to a release when one of its items fails for good."""

    UNDO = "undo"
    STOP = "stop"
    CONTINUE = "continue"


class NoticeEvent(StrEnum):
    """The events that authors are notified of."""

    DONE = "done"
    FAILED = "failed"
    MISSED = "missed"
    WILL_FAIL = "will_fail"


#: How an execution of an action stands.
ExecutionStatus = Literal["running", "success", "failure", "skipped"]


class Left(Exception):
    """An action is not carried out, with the reason."""


class NotYet(Exception):
    """Another action comes first."""


#: The reason for an action that is later than its catch_up_seconds allow.
MISSED = "missed, outside the catch-up window"

#: The author of what workers do by themselves.
ACTOR = "sexton"
#: An action waits this long before it looks again whether earlier ones have ended.
WAIT_SECONDS = 1.0
#: An action that is later than this was missed.
GRACE = timedelta(seconds=60)

#: The prefix of the ids of releases; those of actions begin with `c_`.
RELEASE = "cr"

#: The state of an entity after an action.
AFTER = {
    Action.PUBLISH: EntityState.PUBLISHED,
    Action.UNPUBLISH: EntityState.UNPUBLISHED,
    Action.ARCHIVE: EntityState.ARCHIVED,
}


class Entity(NamedTuple):
    """One entity of a namespace: a post, a product, a banner."""

    type: str
    id: str

    @classmethod
    def of(cls, row: Mapping[str, Any] | asyncpg.Record) -> Entity:
        """The entity that a row of a plan names."""
        return cls(row["entity_type"], row["entity_id"])

    def __str__(self) -> str:
        return f"{self.type}/{self.id}"


@dataclass(frozen=True, slots=True)
class Standing:
    """The present state of an entity, its published version, and its latest version."""

    state: EntityState
    published_version: int | None = None
    latest_version: int | None = None


@dataclass(frozen=True, slots=True)
class ContentChange:
    """A change that an adapter makes. Changes with the same `key` are the same change."""

    namespace: str
    entity: Entity
    action: Action
    version: int | None
    key: str
    scheduled_at: datetime
    #: The author of the change.
    actor: str

    @classmethod
    def of(cls, row: asyncpg.Record, key: str, scheduled_at: datetime) -> ContentChange:
        """The change that a planned action asks for."""
        action, version, actor = Action(row["action"]), row["version"], row["created_by"]
        return cls(row["namespace"], Entity.of(row), action, version, key, scheduled_at, actor)


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a change. `effect` is no_op if the entity already had the wanted state."""

    effect: Annotated[str, about("changed, or no_op: it was so already.")]
    state_before: Annotated[str | None, about("The state before.")] = None
    state_after: Annotated[str | None, about("The state after.")] = None
    version: Annotated[int | None, about("The version that is out.")] = None


@dataclass(frozen=True, slots=True)
class ContentFinding:
    """A problem of a change that was found before its time."""

    entity: Entity
    code: str
    message: str
    #: The change would be made, but perhaps not as intended.
    warning: bool = False
