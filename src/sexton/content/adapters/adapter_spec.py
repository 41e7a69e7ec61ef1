"""The specification of an adapter."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton.refusal import about


class AdapterSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where entities live: a kind of adapter, and what it needs to know."""

    kind: Annotated[str, Meta(max_length=200, description="The kind: http, wordpress, …")]
    config: Annotated[
        dict[str, Any],
        about("What this kind needs to know. Passwords are secrets, named as ${secret:name}."),
    ] = {}
