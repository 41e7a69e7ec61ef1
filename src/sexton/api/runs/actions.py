"""Acting on many runs over HTTP: a call acts on some of them, and says where the next call continues."""

from __future__ import annotations

from sexton.api.operation import Answer, Call, operation
from sexton.api.runs import routes
from sexton.api.runs.routes import RunActionFilter, RunActionRequest
from sexton.api.runs.runs import filter_of
from sexton.errors import InvalidField
from sexton.runs.bulk import act_on_runs, check_choice, count_chosen
from sexton.runs.filter import RunFilter
from sexton.runs.tally import RunTally


@operation(
    routes.ACT_ON_RUNS, heavy=True, answer=RunTally,
    example={"action": "cancel", "filter": {"job": "send-weekly-report"}, "reason": "wrong month"},
    answer_example={"matched": 41, "done": 39, "requested": 2},
)  # fmt: skip
async def act_on_many_runs(call: Call) -> Answer:
    """Cancels the live runs that match a filter, or repeats ended runs with their payloads, each as the call
    for one run would: up to `limit` of them, in one transaction. If there are more, the answer has a
    `cursor`; the same request with it as `after` continues. A refused run does not stop the others: `refused`
    gives the reasons by code. `dry_run` counts."""
    wish = call.json(RunActionRequest)
    if wish.reason is not None and wish.action != "cancel":
        hint = "leave it out, or write action: cancel"
        message = f"reason goes with cancel, not with {wish.action}"
        raise InvalidField("bad_value", message, field="reason", hint=hint)
    ids = wish.filter.ids
    if ids is not None:
        _check_alone(wish.filter)
        chosen = check_choice(wish.action, RunFilter(), all_=True)
    else:
        chosen = check_choice(wish.action, await filter_of(call, wish.filter), all_=wish.filter.all)
    if wish.dry_run:
        return Answer(await count_chosen(call.context, chosen, ids))
    done = await act_on_runs(
        call.context,
        wish.action,
        chosen,
        ids,
        reason=wish.reason,
        after=wish.after,
        expected=wish.expected,
        limit=wish.limit,
    )
    return Answer(done)


def _check_alone(given: RunActionFilter) -> None:
    """Refuse `ids` together with other fields."""
    if given != RunActionFilter(ids=given.ids):
        raise InvalidField(
            "bad_filter", "ids goes with no other field", field="filter.ids", hint="leave the others out"
        )
