"""What can be asked of secrets over HTTP: set and delete them, and see their names."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api.route import Route
from sexton.security.role import Role


class SecretRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A secret, and where it may go."""

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
PUT_SECRET = Route("PUT", "/secrets/{secret}", "secrets", "Set a secret", Role.ADMIN, body=SecretRequest)
DELETE_SECRET = Route("DELETE", "/secrets/{secret}", "secrets", "Delete a secret", Role.ADMIN)
