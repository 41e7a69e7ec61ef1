"""A namespace as people ask for it: apart, because the command line reads it without the database."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.refusal import about


class NamespaceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A namespace as people ask for it."""

    name: Annotated[str, about("Lower-case letters, digits and hyphens, at most 63: `billing`.")]
    description: Annotated[
        Annotated[str, Meta(max_length=1000)] | None, about("A description for people.")
    ] = None
