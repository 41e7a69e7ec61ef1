"""What became of many jobs, counted."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, field

MOST_NAMED = 10


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why some of the jobs were refused."""

    code: Annotated[str, Meta(description="The code of the error.")]
    message: Annotated[str, Meta(description="What the first of them was refused with.")]
    hint: Annotated[str | None, Meta(description="What to do about it.")] = None
    jobs: Annotated[int, Meta(description="How many were.")] = 1
    sample: Annotated[list[str], Meta(description="The ids of some of them.")] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many were."""
        return self.jobs

    def plus(self, other: Refusal) -> Refusal:
        """Both, for the same reason."""
        named = [*self.sample, *other.sample][:MOST_NAMED]
        return msgspec.structs.replace(self, jobs=self.jobs + other.jobs, sample=named)


class SampledJob(msgspec.Struct, frozen=True, kw_only=True):
    """One of the jobs that are meant."""

    job_id: Annotated[str, Meta(description="The job's id, `j_…`.")]
    name: Annotated[str, Meta(description="Its name.")]
    status: Annotated[str, Meta(description="active, paused or completed.")]


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs were meant, and what became of them. Of a dry run nothing has become yet."""

    # What a tally of runs has beside this.
    estimated: ClassVar[bool] = False
    requested: ClassVar[int] = 0

    dry_run: Annotated[bool, Meta(description="True if nothing was done.")] = False
    matched: Annotated[
        int, Meta(description="How many jobs are meant; of a call that acts, how many it has gone through.")
    ] = 0
    done: Annotated[int, Meta(description="How many were changed, deleted or run.")] = 0
    unchanged: Annotated[int, Meta(description="How many were so already.")] = 0
    refused: Annotated[list[Refusal], Meta(description="Why others were refused, by code.")] = field(
        default_factory=list
    )
    run_ids: Annotated[list[str], Meta(description="The runs that were made.")] = field(default_factory=list)
    job_ids: Annotated[list[str], Meta(description="With `delete`: the jobs that were deleted.")] = field(
        default_factory=list
    )
    sample: Annotated[list[SampledJob], Meta(description="Some of the jobs, in a dry run.")] = field(
        default_factory=list
    )
    through: Annotated[
        str | None, Meta(description="The last of the jobs, in a dry run: `through` of the call that acts.")
    ] = None
    cursor: Annotated[str | None, Meta(description="`after` of the next call; null if no job is left.")] = (
        None
    )

    @property
    def refusals(self) -> int:
        """How many jobs were refused."""
        return sum(each.jobs for each in self.refused)

    def plus(self, other: Tally) -> Tally:
        """This one and what came after it."""
        refused = {each.code: each for each in self.refused}
        for each in other.refused:
            refused[each.code] = refused[each.code].plus(each) if each.code in refused else each
        return msgspec.structs.replace(
            self,
            matched=self.matched + other.matched,
            done=self.done + other.done,
            unchanged=self.unchanged + other.unchanged,
            refused=[*refused.values()],
            run_ids=self.run_ids + other.run_ids,
            job_ids=self.job_ids + other.job_ids,
            cursor=other.cursor,
        )
