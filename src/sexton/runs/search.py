"""Search by free text: the id of a run or a job, words of a job's name, a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import asyncpg
import msgspec

from sexton.jobs.filter import WORDS, pattern_of, words_query
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

# The index of words returns at most about this many jobs for a frequent word.
MOST_CANDIDATES = 5000
# So many of them are read, to find those that carry out no product.
LOOKED_AT = 500


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was found."""

    kind: Annotated[
        Literal[
            "job", "run", "dead", "queue", "entity", "release", "campaign", "template", "message", "recipient"
        ],
        about("The kind of the thing: job, run, …"),
    ]
    id: Annotated[str, about("Its id, or its name where that is its id.")]
    title: Annotated[str, about("The name of the thing.")]
    subtitle: Annotated[str | None, about("Further text that tells it from others.")] = None
    status: Annotated[str | None, about("Its status.")] = None
    namespace: Annotated[str, about("The namespace of the thing.")]


@query
async def search(
    context: Context, text: str, limit: int, products: Sequence[str] = ()
) -> tuple[list[Found], list[Found]]:
    """Jobs, runs, dead letters and queues, the best match first; and apart from them jobs of these kinds of
    target: people look for the planned action or the campaign, not for what carries it out."""
    jobs, carrying = await _jobs(context, text, limit, products)
    found = [*await _runs(context, text), *jobs, *await _queues(context, text, limit)]
    return found[:limit], carrying[:limit]


async def rows_with_words(
    context: Context, statement: str, text: str, *, before: str = "", **parameters: Any
) -> list[asyncpg.Record]:
    """The rows of a statement that searches an index of words, in which each has `before` in front of it;
    none for a text without words."""
    if not WORDS.search(text):
        return []
    async with context.planned_anew():
        # A million rows may have a word: some of them are enough.
        await context.open.execute(f"set local gin_fuzzy_search_limit = {MOST_CANDIDATES}")
        return list(await context.fetch(statement, words=words_query(text, before), **parameters))


async def _runs(context: Context, text: str) -> list[Found]:
    number = decode_id("r", text)
    if number is None:
        return []
    rows = await context.fetch("reading/search_run", run_id=number)
    return [
        Found(
            kind="dead" if row["dead"] else "run",
            id=text,
            title=text,
            subtitle=row["job_name"],
            status=row["status"],
            namespace=context.namespace,
        )
        for row in rows
    ]


async def _jobs(
    context: Context, text: str, limit: int, products: Sequence[str]
) -> tuple[list[Found], list[Found]]:
    number = decode_id("j", text)
    rows = []
    if number is not None:
        rows += await context.fetch("jobs/find_shown", job_id=number, products=products)
    rows += await rows_with_words(
        context,
        "jobs/search",
        text,
        pattern=pattern_of(text),
        look=LOOKED_AT,
        limit=limit,
        products=products,
    )
    shown = {row["id"]: row for row in reversed(rows)}
    ordered = sorted(shown.values(), key=lambda row: (row["place"], len(row["name"]), row["name"]))
    found: tuple[list[Found], list[Found]] = ([], [])
    for row in ordered:
        job = Found(
            kind="job",
            id=encode_id("j", row["id"]),
            title=row["name"],
            subtitle=f"{row['schedule']} {row['timezone']}",
            status=row["status"],
            namespace=context.namespace,
        )
        found[row["of_product"]].append(job)
    return found


async def _queues(context: Context, text: str, limit: int) -> list[Found]:
    rows = await context.fetch("jobs/search_queues", pattern=pattern_of(text), limit=limit)
    return [
        Found(
            kind="queue",
            id=row["name"],
            title=row["name"],
            status="paused" if row["paused"] else None,
            namespace=context.namespace,
        )
        for row in rows
    ]
