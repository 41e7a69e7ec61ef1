"""Secrets over HTTP: they can be set and deleted, but never read.

A value must not cross a network in plain text: over plain HTTP it is accepted only from this machine, or
through a proxy for a configured `public_url` that begins with https.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from sexton.api.operation import Answer, Call, operation
from sexton.api.security import routes
from sexton.api.security.routes import SecretRequest
from sexton.api.security.site import is_forwarded
from sexton.connections.loopback import is_loopback
from sexton.errors import InvalidField, SextonError
from sexton.refusal import about
from sexton.security import secrets
from sexton.security.binding import Binding, check_binding, hosts_of
from sexton.security.secret_uses import SecretUses, find_uses
from sexton.targets.table import kinds

EXAMPLE = {
    "name": "crm-token",
    "hosts": ["crm.example.com"],
    "kinds": [],
    "created_at": "2026-05-27T10:14:03Z",
    "updated_at": "2026-05-27T10:14:03Z",
}


class SecretView(msgspec.Struct, frozen=True, kw_only=True):
    """A secret, without its value."""

    name: Annotated[str, about("What targets call it: `${secret:NAME}`.")]
    hosts: Annotated[list[str], about("The hosts that may get it; empty: any.")]
    kinds: Annotated[list[str], about("The kinds of target that may use it; empty: any.")]
    created_at: Annotated[datetime, about("When it was set first.")]
    updated_at: Annotated[datetime, about("When it was set last.")]


@operation(routes.LIST_SECRETS, answer=list[SecretView], answer_example=[EXAMPLE])
async def list_secrets(call: Call) -> Answer:
    """Their names and where they may be sent. No answer ever has a value; the audit says who set it."""
    return Answer([SecretView(**row) for row in await secrets.names(call.context)])


@operation(
    routes.FIND_SECRET_USES, lists=True, answer=SecretUses,
    answer_example={
        "jobs": 2, "estimated": False, "sample": ["crm-export", "crm-import"], "providers": [],
        "adapters": ["cms"],
    },
)  # fmt: skip
async def find_secret_uses(call: Call) -> Answer:
    """The jobs whose targets name it, the providers of notifications and the adapters of content: all of
    these fail if it is deleted."""
    return Answer(await find_uses(call.reading, call.path("secret")))


@operation(routes.PUT_SECRET, status=204, example={"value": "•••", "hosts": ["crm.example.com"]})
async def put_secret(call: Call) -> Answer:
    """The value is encrypted under the key for secrets, and is neither shown nor logged. Over plain HTTP it
    is accepted only from this machine."""
    _require_privacy(call)
    wish, name = call.json(SecretRequest), call.path("secret")
    hosts = wish.hosts or [each for each in hosts_of(wish.value) if each and "://" in wish.value]
    if not hosts and "shell" not in wish.kinds:
        raise InvalidField(
            "no_host",
            f"the secret {name} has no host",
            field="hosts",
            hint='name who may get it: "hosts": ["crm.example.com"], or "kinds": ["shell"] for commands',
        )
    settings = await secrets.with_own_key(call.context, call.services.settings)
    try:
        binding = check_binding(Binding(tuple(hosts), tuple(wish.kinds)), kinds())
    except InvalidField as error:
        raise InvalidField("bad_binding", error.message, field=f"{error.field}s", hint=error.hint) from None
    await secrets.keep(call.context, settings, name, wish.value, binding)
    return Answer()


@operation(routes.DELETE_SECRET, status=204)
async def delete_secret(call: Call) -> Answer:
    """Runs whose targets name it fail until it is set again."""
    await secrets.delete(call.context, call.path("secret"))
    return Answer()


def _require_privacy(call: Call) -> None:
    client = call.request.client
    here = client is not None and is_loopback(client.host) and not is_forwarded(call.request)
    if here or (call.services.settings.public_url or "").startswith("https:"):
        return
    raise SextonError(
        "insecure",
        "a secret is not accepted over plain HTTP from another machine",
        hint="set it on the server (sexton secret set), or put a proxy with TLS in front and set public_url",
    )
