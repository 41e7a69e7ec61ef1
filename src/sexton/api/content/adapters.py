"""Adapters of content over HTTP: those that a namespace has configured."""

from __future__ import annotations

from typing import Any

from sexton.api.content import routes
from sexton.api.operation import Answer, Call, operation
from sexton.content.adapters import configured
from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.adapters.configured import AdapterView

ADAPTER_REQUEST: dict[str, Any] = {
    "kind": "wordpress",
    "config": {"url": "https://blog.example.com", "user": "sexton", "password": "${secret:blog}"},
}
ADAPTER: dict[str, Any] = {
    "name": "blog",
    **ADAPTER_REQUEST,
    "revision": 1,
    "changed_by": "ann",
    "changed_at": "2027-03-01T12:00:00Z",
}


@operation(
    routes.PUT_ADAPTER, answer=AdapterView, errors=(409,), example=ADAPTER_REQUEST, answer_example=ADAPTER
)
async def put_adapter(call: Call) -> Answer:
    """Say where entities live. Planned actions name it as their `adapter`. A change applies from the next
    action that is carried out. Passwords are secrets, written as `${secret:name}`."""
    return Answer(await configured.put_adapter(call.context, call.path("adapter"), call.json(AdapterSpec)))


@operation(routes.LIST_ADAPTERS, answer=list[AdapterView], answer_example=[ADAPTER])
async def list_adapters(call: Call) -> Answer:
    """By name. `builtin` needs no configuration and is not listed."""
    return Answer(await configured.list_adapters(call.context))


@operation(routes.GET_ADAPTER, answer=AdapterView, answer_example=ADAPTER)
async def get_adapter(call: Call) -> Answer:
    """Its configuration; secrets are shown by name."""
    return Answer(await configured.get_adapter(call.context, call.path("adapter")))


@operation(routes.DELETE_ADAPTER, status=204)
async def delete_adapter(call: Call) -> Answer:
    """Actions that are planned with it fail, and are retried, until an adapter of this name exists again."""
    await configured.delete_adapter(call.context, call.path("adapter"))
    return Answer()
