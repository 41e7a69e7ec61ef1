"""The specification of a provider."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sexton.refusal import about


class ProviderSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who sends the messages of a channel: a kind of provider, and what it needs to know."""

    channel: Annotated[
        str, Meta(max_length=63, description="The channel: email, sms, push, in_app, slack, …")
    ]
    kind: Annotated[str, Meta(max_length=63, description="The kind: smtp, twilio, web_push, …")]
    config: Annotated[
        dict[str, Any],
        about("What this kind needs to know. Passwords are secrets, named as ${secret:name}."),
    ] = {}
    priority: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="The provider with the smallest number is used first, the others if it fails.",
        ),
    ] = 100
    rate: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000)] | None,
        about("Messages in a second, of all workers together; null: no limit."),
    ] = None
    concurrency: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None,
        about("Requests or connections at a time, of each worker; null: as the kind has it."),
    ] = None
    on_doubt: Annotated[
        Literal["hold", "resend"] | None,
        about(
            "What to do with a message that may have been sent: wait for an operator, or send it again; "
            "null: send it again if the other side recognises it by its key."
        ),
    ] = None
    enabled: Annotated[bool, about("Whether it is used.")] = True
