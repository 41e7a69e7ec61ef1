"""A route: method, path, role, query and body of an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sexton.jobs.tally import MOST_ITEMS
from sexton.security.role import Role

PREFIX = "/api/v1"
#: The reason for a change, for the audit.
REASON_HEADER = "Sexton-Reason"
#: The User-Agent of the command line begins so.
AGENT = "sexton/"

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

PATH_PARAMETERS = {
    "job": "The job's id, `j_…`, or its name.",
    "run": "The run's id, `r_…`.",
    "name": "The job's name.",
    "node": "The node's id, `n_…`, its process or its machine.",
    "queue": "The queue's name.",
    "key": "The key's id, `k_…`.",
    "namespace": "The namespace's name.",
    "schedule": "The id of the planned action, `c_…`.",
    "release": "The id of the release, `cr_…`.",
    "entity_type": "What the entity is: post, product, …",
    "entity_id": "Which one of its type.",
    "adapter": "The adapter's name.",
    "notification": "The message's id, `n_…`.",
    "user_id": "The recipient's id: your own.",
    "template_id": "The template's id.",
    "campaign": "The campaign's id, `k_…`.",
    "segment": "The segment's name.",
    "audience": "The list's name.",
    "digest": "The digest's name.",
    "sequence": "The sequence's name.",
    "notification_schedule": "The id of the recurring notification, `ns_…`.",
    "session": "The session's id, `s_…`.",
    "worker": "The worker's id, `n_…`.",
    "feed": "The feed's id, `f_…`.",
    "calendar_feed": "The feed's id, `cf_…`.",
    "provider": "The provider's name.",
    "channel": "The channel: email, sms, push, …",
    "address": "The address.",
    "token": "The secret of the address.",
    "secret": "The secret's name.",
}


class Query(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The parameters after the `?`. Any other is refused."""


Limit = Annotated[int, Meta(ge=1, le=1000, description="How many rows at most.")]
Cursor = Annotated[str | None, Meta(description='Where to continue: from the `Link` header with rel="next".')]


class PageQuery(Query, frozen=True, kw_only=True):
    """Which page of a list without filters."""

    limit: Limit = 100
    cursor: Cursor = None


Ids = Annotated[
    Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=MOST_ITEMS)] | None,
    Meta(description="These, by their ids; goes with no other field."),
]


class ItemsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to act on the selected things."""

    dry_run: Annotated[bool, Meta(description="Only count the selected ones, and show some.")] = False
    expected: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Refuse if more than this are selected.")
    ] = None
    after: Annotated[
        str | None, Meta(description="Continue after this row: the `cursor` of the previous answer.")
    ] = None
    limit: Annotated[
        int,
        Meta(ge=1, le=MOST_ITEMS, description="How many at most in this call, all in one transaction."),
    ] = 100


@dataclass(frozen=True)
class Route:
    """`role` is the role that the caller must have in the namespace of the call; with `cluster`, in all
    namespaces. None: any caller with a credential may ask; with `open`, any caller at all. `query` and `body`
    are types; None: there is none. `root`: the path has no API prefix."""

    method: Method
    path: str
    tag: str
    summary: str
    role: Role | None
    query: type[Query] | None = None
    body: Any = None
    body_optional: bool = False
    root: bool = False
    cluster: bool = False
    open: bool = False

    @property
    def template(self) -> str:
        """The whole path, as OpenAPI writes it."""
        return self.path if self.root else PREFIX + self.path
