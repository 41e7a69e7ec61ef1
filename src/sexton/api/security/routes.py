"""The routes of keys, namespaces, sessions, the audit and secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api.route import Cursor, Limit, PageQuery, Query, Route
from sexton.security.audit import AuditSort, Format
from sexton.security.key_spec import LONGEST_OVERLAP, KeySpec
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.quota_spec import QuotaChanges
from sexton.security.role import Role

# Keys and namespaces


class KeysQuery(Query, frozen=True, kw_only=True):
    every: Annotated[bool, Meta(description="Those of all namespaces.")] = False
    limit: Limit = 100
    cursor: Cursor = None


class RotateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long both keys are valid."""

    overlap_seconds: Annotated[
        int, Meta(ge=0, le=LONGEST_OVERLAP, description="How long the old key stays valid.")
    ] = 86_400


CREATE_KEY = Route("POST", "/keys", "access", "Make an API key", Role.ADMIN, body=KeySpec)
LIST_KEYS = Route("GET", "/keys", "access", "List API keys", Role.ADMIN, query=KeysQuery)
REVOKE_KEY = Route("DELETE", "/keys/{key}", "access", "Revoke an API key", Role.ADMIN)
ROTATE_KEY = Route(
    "POST", "/keys/{key}/rotate", "access", "Rotate an API key", Role.ADMIN, body=RotateRequest,
    body_optional=True,
)  # fmt: skip
CREATE_NAMESPACE = Route(
    "POST", "/namespaces", "access", "Make a namespace", Role.ADMIN, body=NamespaceSpec, cluster=True
)
LIST_NAMESPACES = Route("GET", "/namespaces", "access", "List namespaces", Role.VIEWER)
GET_NAMESPACE = Route("GET", "/namespaces/{namespace}", "access", "Show a namespace", Role.VIEWER)
CHANGE_NAMESPACE = Route(
    "PATCH", "/namespaces/{namespace}", "access", "Change some quotas of a namespace", Role.ADMIN,
    body=QuotaChanges, cluster=True,
)  # fmt: skip


# People


class SessionsQuery(Query, frozen=True, kw_only=True):
    every: Annotated[
        bool, Meta(description="Those of all people; needs the role admin in all namespaces.")
    ] = False
    limit: Limit = 100
    cursor: Cursor = None


class EndSessionsQuery(Query, frozen=True, kw_only=True):
    name: Annotated[
        str | None,
        Meta(
            description="Those of the person with this name instead; needs the role admin in all namespaces."
        ),
    ] = None


GET_SESSION = Route("GET", "/session", "people", "Show who I am", None)
END_SESSION = Route("DELETE", "/session", "people", "Sign out", None)
LIST_SESSIONS = Route("GET", "/sessions", "people", "List my sessions", None, query=SessionsQuery)
END_SESSIONS = Route("DELETE", "/sessions", "people", "Sign out everywhere", None, query=EndSessionsQuery)
END_ONE_SESSION = Route("DELETE", "/sessions/{session}", "people", "End one of my sessions", None)
MAKE_LINK = Route("POST", "/links", "people", "Make a sign-in link", None)


# The audit


class AuditQuery(Query, frozen=True, kw_only=True):
    """Which entries, of those that the caller may see."""

    actor: Annotated[str | None, Meta(description="Only changes by: `key:deploy`, `user:ada`, `sexton`.")] = (
        None
    )
    action: Annotated[
        str | None, Meta(description="Only such changes: `job.paused`, or `job.*` for all of jobs.")
    ] = None
    object: Annotated[
        str | None, Meta(description="Only changes of this job, run, queue, key, …: its id or name.")
    ] = None
    job: Annotated[
        str | None, Meta(description="Only changes of this job, its runs among them: its id or name.")
    ] = None
    request_id: Annotated[str | None, Meta(description="Only changes by this request.")] = None
    since: Annotated[datetime | None, Meta(description="Only changes from this instant on.")] = None
    until: Annotated[datetime | None, Meta(description="Only changes before this instant.")] = None
    every: Annotated[bool, Meta(description="Those of all namespaces.")] = False


class AuditPageQuery(AuditQuery, frozen=True, kw_only=True):
    sort: Annotated[AuditSort, Meta(description="The order: the latest first, or with `at` the oldest.")] = (
        "-at"
    )
    limit: Limit = 100
    cursor: Cursor = None


class AuditExportQuery(AuditQuery, frozen=True, kw_only=True):
    format: Annotated[Format, Meta(description="JSON lines, one JSON array, or CSV.")] = "jsonl"


LIST_AUDIT = Route("GET", "/audit", "audit", "List changes", Role.EDITOR, query=AuditPageQuery)
EXPORT_AUDIT = Route("GET", "/audit/export", "audit", "Export changes", Role.EDITOR, query=AuditExportQuery)
LIST_JOB_CHANGES = Route(
    "GET", "/jobs/{job}/changes", "audit", "List a job's changes", Role.VIEWER, query=PageQuery
)


# Secrets


class SecretRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A secret, and where it may be sent."""

    value: Annotated[str, Meta(description="1 to 65,536 bytes; kept encrypted, and never shown.")]
    hosts: Annotated[
        Annotated[list[str], Meta(max_length=20)],
        Meta(description="The hosts that may get it. Default: those of the value, if that is an address."),
    ] = []
    kinds: Annotated[
        Annotated[list[str], Meta(max_length=20)],
        Meta(description="The kinds of target that may use it. Default: all."),
    ] = []


LIST_SECRETS = Route("GET", "/secrets", "secrets", "List the names of secrets", Role.EDITOR)
FIND_SECRET_USES = Route("GET", "/secrets/{secret}/uses", "secrets", "List the uses of a secret", Role.EDITOR)
PUT_SECRET = Route("PUT", "/secrets/{secret}", "secrets", "Set a secret", Role.ADMIN, body=SecretRequest)
DELETE_SECRET = Route("DELETE", "/secrets/{secret}", "secrets", "Delete a secret", Role.ADMIN)
