"""What became of many runs, counted."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, field

from sexton.jobs.tally import RefusedSome, together


class RunRefusal(RefusedSome, frozen=True, kw_only=True):
    """Why some of the runs were refused."""

    counted: ClassVar[str] = "runs"

    runs: Annotated[int, Meta(description="How many were.")] = 1


class SampledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs that are meant."""

    run_id: Annotated[str, Meta(description="The run's id, `r_…`.")]
    job_name: Annotated[str, Meta(description="Its job.")]
    status: Annotated[str, Meta(description="Its status.")]


class RunTally(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs were meant, and what became of them. Of a dry run nothing has become yet."""

    # What a tally of jobs has beside this.
    unchanged: ClassVar[int] = 0
    through: ClassVar[str | None] = None

    dry_run: Annotated[bool, Meta(description="True if nothing was done.")] = False
    matched: Annotated[
        int, Meta(description="How many runs are meant; of a call that acts, how many it has gone through.")
    ] = 0
    estimated: Annotated[
        bool, Meta(description="True if there may be more: a dry run counts up to 10,000.")
    ] = False
    done: Annotated[int, Meta(description="How many were cancelled, or made again.")] = 0
    requested: Annotated[int, Meta(description="With `cancel`: how many run, and were asked to stop.")] = 0
    refused: Annotated[list[RunRefusal], Meta(description="Why others were refused, by code.")] = field(
        default_factory=list
    )
    run_ids: Annotated[list[str], Meta(description="With `again`: the runs that were made.")] = field(
        default_factory=list
    )
    sample: Annotated[list[SampledRun], Meta(description="Some of the runs, in a dry run.")] = field(
        default_factory=list
    )
    cursor: Annotated[str | None, Meta(description="`after` of the next call; null if no run is left.")] = (
        None
    )

    @property
    def refusals(self) -> int:
        """How many runs were refused."""
        return sum(each.count for each in self.refused)

    def plus(self, other: RunTally) -> RunTally:
        """This one and what came after it."""
        return together(self, other, "matched", "done", "requested", "run_ids")
