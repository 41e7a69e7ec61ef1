"""The results of commands on many runs."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from sexton.jobs.tally import RefusedSome, together
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


class RunTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs were meant, and what became of them. Of a dry run nothing has become yet."""

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
    refused: Annotated[list[RunRefusal], about("Why others were refused, by code.")] = []
    run_ids: Annotated[list[str], about("With `again`: the runs that were made.")] = []
    sample: Annotated[list[SampledRun], about("Some of the runs, in a dry run.")] = []
    cursor: Annotated[str | None, about("`after` of the next call; null if no run is left.")] = None

    @property
    def refusals(self) -> int:
        """How many runs were refused."""
        return sum(each.count for each in self.refused)

    def plus(self, other: RunTally) -> RunTally:
        """This one and what came after it."""
        return together(self, other, "matched", "done", "requested", "run_ids")
