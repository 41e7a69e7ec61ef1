"""The results of commands on many runs."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from sexton.jobs.tally import RefusedSome, Tallied
from sexton.refusal import about


class RunRefusal(RefusedSome, frozen=True, kw_only=True):
    """Why some of the runs were refused."""

    counted: ClassVar[str] = "runs"

    runs: Annotated[int, about("How many runs were refused.")] = 1


class SampledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs that are meant."""

    run_id: Annotated[str, about("The run's id, `r_…`.")]
    job_name: Annotated[str, about("Its job.")]
    status: Annotated[str, about("Its status.")]


class RunTally(Tallied, frozen=True, kw_only=True):
    """How many runs were meant, and what became of them. Of a dry run nothing has become yet."""

    summed = ("matched", "done", "requested", "run_ids")
    # What a tally of jobs has beside this.
    unchanged: ClassVar[int] = 0
    through: ClassVar[str | None] = None

    dry_run: Annotated[bool, about("True if nothing was done.")] = False
    matched: Annotated[
        int, about("How many runs match; with `dry_run: false`, how many the call has read.")
    ] = 0
    estimated: Annotated[bool, about("True if there may be more: a dry run counts up to 10,000.")] = False
    done: Annotated[int, about("How many were cancelled, or made again.")] = 0
    requested: Annotated[int, about("With `cancel`: how many running runs were asked to stop.")] = 0
    refused: Annotated[list[RunRefusal], about("Why others were refused, by code.")] = field(
        default_factory=list
    )
    run_ids: Annotated[list[str], about("With `again`: the runs that were made.")] = field(
        default_factory=list
    )
    sample: Annotated[list[SampledRun], about("Some of the runs, in a dry run.")] = field(
        default_factory=list
    )
    cursor: Annotated[str | None, about("`after` of the next call; null if no run is left.")] = None
