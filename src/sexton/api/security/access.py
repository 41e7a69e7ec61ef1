"""Keys and namespaces over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api.operation import Answer, Call, operation
from sexton.api.security import routes
from sexton.api.security.routes import KeysQuery, RotateRequest
from sexton.refusal import not_found
from sexton.security import keys, namespaces
from sexton.security.key_spec import KeySpec
from sexton.security.keys import KeyView, NewKey
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import NamespaceView
from sexton.security.quota_spec import QuotaChanges
from sexton.security.role import EVERY_NAMESPACE, Role

KEY: dict[str, Any] = {
    "key_id": "k_1",
    "name": "deploy",
    "role": "editor",
    "namespace": "default",
    "beginning": "sxn_8Zq2Lw",
    "created_by": "configured key",
    "created_at": "2026-06-01T13:00:00Z",
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": None,
    "rate": None,
}
SHOWN = {**KEY, "key": "sxn_8Zq2LwR0v3kX9bTnY5cJ7mHdPa1sEu6f0RkT3b"}
NAMESPACE: dict[str, Any] = {
    "name": "billing",
    "description": "What the billing team runs.",
    "created_at": "2026-06-01T13:00:00Z",
    "quotas": {
        "jobs": 10_000,
        "live_runs": 5000,
        "firings_per_second": 50.0,
        "payload_bytes": None,
        "history_days": 30,
        "campaign_sends_per_day": None,
    },
    "used": {"jobs": 1200, "live_runs": 3, "firings_wait_seconds": 0.0},
}


@operation(
    routes.CREATE_KEY, status=201, answer=NewKey, kept=False, example={"name": "deploy", "role": "editor"},
    answer_example=SHOWN,
)  # fmt: skip
async def create_key(call: Call) -> Answer:
    """The key is in this answer and nowhere else: only its hash is stored, and an `Idempotency-Key` does not
    repeat the answer."""
    spec = call.json(KeySpec)
    namespace = spec.namespace or call.context.namespace
    if namespace == EVERY_NAMESPACE:
        call.caller.require(Role.ADMIN, namespace, cluster=True)
    elif namespace != call.context.namespace:
        if call.caller.role_in(namespace) is None:
            raise not_found("namespace", namespace)
        call.caller.require(Role.ADMIN, namespace)
    made = await keys.create_key(call.context, spec, call.services.settings.secret_key)
    call.services.guard.access_changed()
    return Answer(made)


@operation(routes.LIST_KEYS, answer=list[KeyView], answer_example=[KEY])
async def list_keys(call: Call) -> Answer:
    """The keys of the namespace in the order of creation, including revoked ones."""
    query = call.query(KeysQuery)
    if query.every:
        call.caller.require(Role.ADMIN, EVERY_NAMESPACE, cluster=True)
    found = await keys.list_keys(call.context, cluster=query.every, after=query.cursor, limit=query.limit + 1)
    page = found[: query.limit]
    more = call.next_link(cursor=page[-1].key_id) if len(found) > len(page) else {}
    return Answer(page, headers=more)


@operation(routes.REVOKE_KEY, answer=KeyView, answer_example=KEY)
async def revoke_key(call: Call) -> Answer:
    """Every process refuses the key within two seconds. Repeating it changes nothing."""
    revoked = await keys.revoke_key(call.context, call.path("key"), cluster=_everywhere(call))
    call.services.guard.access_changed()
    return Answer(revoked)


@operation(
    routes.ROTATE_KEY, status=201, answer=NewKey, kept=False, example={"overlap_seconds": 3600},
    answer_example=SHOWN,
)  # fmt: skip
async def rotate_key(call: Call) -> Answer:
    """A new key with the same name, role, namespace and rate, and the same lifetime as the old key had. The
    old key stays valid for `overlap_seconds`."""
    wish = call.json(RotateRequest, optional=True)
    made = await keys.rotate_key(
        call.context,
        call.path("key"),
        overlap_seconds=wish.overlap_seconds,
        cluster=_everywhere(call),
        source=call.services.settings.secret_key,
    )
    call.services.guard.access_changed()
    return Answer(made)


@operation(
    routes.CREATE_NAMESPACE, status=201, answer=NamespaceView,
    example={"name": "billing", "description": "What the billing team runs."}, answer_example=NAMESPACE,
)  # fmt: skip
async def create_namespace(call: Call) -> Answer:
    """Jobs, queues, runs, secrets and keys belong to one namespace. Callers choose it by their key, or with
    the header `Sexton-Namespace`."""
    made = await namespaces.create_namespace(call.context, call.json(NamespaceSpec))
    call.services.guard.access_changed()
    return Answer(made)


@operation(routes.LIST_NAMESPACES, answer=list[NamespaceView], answer_example=[NAMESPACE])
async def list_namespaces(call: Call) -> Answer:
    """The namespaces that the caller may see, by name."""
    only = None if call.caller.everywhere() else call.caller.grants
    return Answer(await namespaces.list_namespaces(call.context, only))


@operation(routes.GET_NAMESPACE, answer=NamespaceView, answer_example=NAMESPACE)
async def get_namespace(call: Call) -> Answer:
    """One that the caller may see, with its quotas and what it uses."""
    name = call.path("namespace")
    if call.caller.role_in(name) is None:
        raise not_found("namespace", name)
    return Answer(await namespaces.get_namespace(call.context, name))


@operation(
    routes.CHANGE_NAMESPACE, answer=NamespaceView,
    example={"jobs": 10_000, "firings_per_second": 50, "payload_bytes": None}, answer_example=NAMESPACE,
)  # fmt: skip
async def change_namespace(call: Call) -> Answer:
    """Changes only the given quotas; null removes one. They apply within seconds. What exceeds a new quota
    already stays."""
    changed = await namespaces.change_namespace(call.context, call.path("namespace"), call.json(QuotaChanges))
    return Answer(changed)


def _everywhere(call: Call) -> bool:
    """Whether the caller is an admin of all namespaces."""
    role = call.caller.everywhere()
    return role is not None and role.allows(Role.ADMIN)
