"""The results of commands on many jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Self, cast

import msgspec

from sexton.errors import Conflict, InvalidField, SextonError
from sexton.printable import counted
from sexton.refusal import about

MOST_NAMED = 10
# So many things with an id are changed together.
MOST_ITEMS = 200


def check_selective(selective: bool, *, every: bool, many: str, hint: str) -> None:
    """Refuse a filter that leaves nothing out, unless `every` says that all are meant."""
    if not (selective or every):
        raise InvalidField("bad_filter", f"no filter selects {many}", field="filter", hint=hint)


def check_expected(matched: int, expected: int | None, one: str, many: str) -> None:
    """Refuse to act on more objects than the caller has confirmed."""
    if expected is not None and matched > expected:
        raise Conflict(
            "count_changed",
            f"{counted(matched, f'{one} matches', f'{many} match')} now, and {expected:,} were expected",
            hint="count again (dry_run), and confirm that number",
        )


class RefusedSome(msgspec.Struct, frozen=True, kw_only=True):
    """An error that some of them were refused with. `counted` names the field with the number."""

    counted: ClassVar[str]

    code: Annotated[str, about("The code of the error.")]
    message: Annotated[str, about("The message of the first refusal.")]
    hint: Annotated[str | None, about("What to do about it.")] = None
    sample: Annotated[list[str], about("The ids of some of them.")] = []

    @property
    def count(self) -> int:
        """How many were refused."""
        number: int = getattr(self, self.counted)
        return number

    @classmethod
    def by_code(cls, verdicts: Iterable[tuple[str, object]]) -> list[Self]:
        """The errors among these results, each by its id, grouped by code."""
        found: dict[str, Self] = {}
        for ref, error in verdicts:
            if isinstance(error, SextonError):
                one = cls(code=error.code, message=error.message, hint=error.hint, sample=[ref])
                found[one.code] = found[one.code].plus(one) if one.code in found else one
        return [*found.values()]

    def plus(self, other: Self) -> Self:
        """The sum of two refusals with the same code."""
        named = [*self.sample, *other.sample][:MOST_NAMED]
        return msgspec.structs.replace(self, sample=named, **{self.counted: self.count + other.count})


class Tallied(msgspec.Struct, frozen=True, kw_only=True):
    """How many match, and what became of them. Further calls add to the numbers and lists in `summed`."""

    summed: ClassVar[tuple[str, ...]]

    @property
    def refusals(self) -> int:
        """How many were refused."""
        return sum(each.count for each in cast("Any", self).refused)

    def plus(self, other: Self) -> Self:
        """This one and what came after it."""
        before, later = cast("Any", self), cast("Any", other)
        refused: dict[str, RefusedSome] = {each.code: each for each in before.refused}
        for each in later.refused:
            refused[each.code] = refused[each.code].plus(each) if each.code in refused else each
        return msgspec.structs.replace(
            self,
            refused=[*refused.values()],
            cursor=later.cursor,
            **{name: getattr(before, name) + getattr(later, name) for name in self.summed},
        )


class Refusal(RefusedSome, frozen=True, kw_only=True):
    """Why some of the jobs were refused."""

    counted: ClassVar[str] = "jobs"

    jobs: Annotated[int, about("How many jobs were refused.")] = 1


class SampledJob(msgspec.Struct, frozen=True, kw_only=True):
    """One of the jobs that match."""

    job_id: Annotated[str, about("The job's id, `j_…`.")]
    name: Annotated[str, about("Its name.")]
    status: Annotated[str, about("active, paused or completed.")]


class Tally(Tallied, frozen=True, kw_only=True):
    """How many jobs match, and what became of them. A dry run only counts and shows them."""

    summed = ("matched", "done", "unchanged", "run_ids", "job_ids")
    # What a tally of runs has beside this.
    estimated: ClassVar[bool] = False
    requested: ClassVar[int] = 0

    dry_run: Annotated[bool, about("True if nothing was done.")] = False
    matched: Annotated[
        int, about("How many jobs match; with `dry_run: false`, how many the call has read.")
    ] = 0
    done: Annotated[int, about("How many jobs were changed, deleted or run.")] = 0
    unchanged: Annotated[int, about("How many jobs were in that state already.")] = 0
    refused: Annotated[list[Refusal], about("Why others were refused, by code.")] = []
    run_ids: Annotated[list[str], about("The runs that were made.")] = []
    job_ids: Annotated[
        list[str], about("With `pause`, `resume` and `delete`: the jobs whose status was changed.")
    ] = []
    sample: Annotated[list[SampledJob], about("Some of the jobs, in a dry run.")] = []
    through: Annotated[
        str | None, about("The last of the jobs, in a dry run: `through` of the call that acts.")
    ] = None
    cursor: Annotated[str | None, about("`after` of the next call; null if no job is left.")] = None


class ItemRefusal(RefusedSome, frozen=True, kw_only=True):
    """Why some of the items were refused."""

    counted: ClassVar[str] = "items"

    items: Annotated[int, about("How many were refused.")] = 1


class SampledItem(msgspec.Struct, frozen=True, kw_only=True):
    """One of the items that match."""

    id: Annotated[str, about("Its id.")]
    name: Annotated[str, about("The name of the item.")]
    status: Annotated[str | None, about("Its status, if it has one.")] = None


class ItemTally(Tallied, frozen=True, kw_only=True):
    """How many items match, and what became of them. A dry run only counts and shows them."""

    summed = ("matched", "done", "ids")
    # What tallies of jobs and runs have beside this.
    unchanged: ClassVar[int] = 0
    requested: ClassVar[int] = 0
    through: ClassVar[str | None] = None

    dry_run: Annotated[bool, about("True if nothing was done.")] = False
    matched: Annotated[int, about("How many match; with `dry_run: false`, how many the call has read.")] = 0
    estimated: Annotated[
        bool, about("True if there may be more: a dry run reads 2,000 items, or 30,000 messages.")
    ] = False
    done: Annotated[int, about("How many were changed.")] = 0
    refused: Annotated[list[ItemRefusal], about("Why others were refused, by code.")] = []
    ids: Annotated[list[str], about("The ids of those that were changed.")] = []
    sample: Annotated[list[SampledItem], about("Some of them, in a dry run.")] = []
    cursor: Annotated[str | None, about("`after` of the next call; null if none is left.")] = None
