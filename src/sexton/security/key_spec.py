"""An API key as people ask for it: apart, because the command line reads it without the database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.refusal import about
from sexton.security.role import Role

LONGEST_NAME = 100
LONGEST_OVERLAP = 30 * 86_400
HIGHEST_RATE = 100_000


class KeySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A key as people ask for it."""

    name: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_NAME, description="The name of the key: what it is for.")
    ]
    role: Annotated[Role, about("The role of the key: viewer, operator, editor, admin or worker.")]
    namespace: Annotated[
        str | None, about("The namespace of the role; `*`: all. Default: the namespace of the request.")
    ] = None
    expires_at: Annotated[datetime | None, about("When the key expires. Default: never.")] = None
    rate: Annotated[
        Annotated[float, Meta(gt=0, le=HIGHEST_RATE)] | None,
        about("Requests per second that the key may send to each process. Default: the setting api_rate."),
    ] = None
