"""Which jobs, providers and adapters name a secret, and so fail without it."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec

from sexton.postgres.transaction import Context, query
from sexton.refusal import about, not_found
from sexton.security.placeholder import check_secret_name

# So many targets are searched for the name: no index has it.
MOST_LOOKED_AT = 20_000
MOST_NAMED = 10


class SecretUses(msgspec.Struct, frozen=True, kw_only=True):
    """What names a secret."""

    jobs: Annotated[int, about("How many jobs have a target that names it.")]
    estimated: Annotated[bool, about("True if there may be more jobs: only 20,000 are read.")] = False
    sample: Annotated[list[str], about("The names of some of these jobs.")]
    providers: Annotated[list[str], about("The providers of notifications that name it.")]
    adapters: Annotated[list[str], about("The adapters of content that name it.")]


@query
async def find_uses(context: Context, name: str) -> SecretUses:
    """Jobs, providers and adapters of the namespace."""
    check_secret_name(name, "secret")
    known = {row["name"] for row in await context.fetch("secrets/list", namespace=context.namespace)}
    if name not in known:
        raise not_found("secret", name)
    async with context.planned_anew():
        row = await context.fetchrow(
            "secrets/find_uses",
            namespace=context.namespace,
            placeholder=f"${{secret:{name}}}",
            whole=json.dumps({"secret": name}),
            look=MOST_LOOKED_AT,
            most=MOST_NAMED,
        )
    assert row is not None
    return SecretUses(
        jobs=row["jobs"],
        estimated=row["looked"] == MOST_LOOKED_AT,
        sample=row["sample"],
        providers=row["providers"],
        adapters=row["adapters"],
    )
