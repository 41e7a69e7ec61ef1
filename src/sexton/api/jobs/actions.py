"""Acting on many jobs over HTTP: a call acts on some of them, and says where the next call continues."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from sexton.api.jobs import routes
from sexton.api.jobs.routes import ACTION_ROLES, ActionName, ActionRequest
from sexton.api.operation import Answer, Call, operation
from sexton.errors import InvalidField
from sexton.jobs.edit import relabel_all
from sexton.jobs.filter import JobFilter
from sexton.jobs.restore import restore_all
from sexton.jobs.state import delete_all, pause_all, resume_all
from sexton.jobs.tally import Tally
from sexton.model import JobStatus
from sexton.postgres.page import number_in_cursor
from sexton.runs.many import Work, act, check_filter, count
from sexton.runs.trigger import run_all

# What each action does, and the fields of the request that it takes.
WORKS: dict[ActionName, tuple[Any, tuple[str, ...]]] = {
    "pause": (pause_all, ("reason", "until")),
    "resume": (resume_all, ()),
    "run": (run_all, ("payload",)),
    "delete": (delete_all, ("cancel_running",)),
    "restore": (restore_all, ()),
    "label": (relabel_all, ("labels",)),
}
OPTIONS = {name: action for action, (_, names) in WORKS.items() for name in names}
# The answer names the jobs that got this status, so that the action can be undone.
UNDONE: dict[ActionName, JobStatus] = {
    "pause": JobStatus.PAUSED,
    "resume": JobStatus.ACTIVE,
    "delete": JobStatus.DELETED,
}


@operation(
    routes.ACT_ON_JOBS, heavy=True, answer=Tally,
    example={"action": "pause", "filter": {"label": "team=billing"}, "reason": "the database moves"},
    answer_example={"matched": 41, "done": 40, "unchanged": 1},
)  # fmt: skip
async def act_on_jobs(call: Call) -> Answer:
    """Pauses, resumes, runs, deletes, restores or labels the jobs that match a filter, each as the call for
    one job would: up to `limit` of them, in one transaction. If there are more, the answer has a `cursor`;
    the same request with it as `after` continues. A refused job does not stop the others: `refused` gives the
    reasons by code. `dry_run` counts. `delete`, `restore` and `label` need the role editor; `restore` is for
    deleted jobs."""
    wish = call.json(ActionRequest)
    call.caller.require(ACTION_ROLES[wish.action], call.context.namespace)
    work = _work(wish)
    chosen = check_filter(_filter_of(wish), every=wish.filter.all, deleted=wish.action == "restore")
    if wish.dry_run:
        return Answer(await count(call.context, chosen, after=wish.after, through=wish.through))
    done = await act(
        call.context,
        work,
        chosen,
        after=wish.after,
        through=wish.through,
        expected=wish.expected,
        limit=wish.limit,
        becoming=UNDONE.get(wish.action),
    )
    return Answer(done)


def _work(wish: ActionRequest) -> Work:
    """What is done to the jobs. Refuses fields that belong to another action."""
    for name, action in OPTIONS.items():
        default = next(each.default for each in msgspec.structs.fields(ActionRequest) if each.name == name)
        if action != wish.action and getattr(wish, name) != default:
            hint = f"leave it out, or write action: {action}"
            message = f"{name} goes with {action}, not with {wish.action}"
            raise InvalidField("bad_value", message, field=name, hint=hint)
    if wish.action == "label" and not wish.labels:
        hint = 'write "labels": {"team": "billing"}'
        raise InvalidField("missing_field", "no label is given", field="labels", hint=hint)
    work, names = WORKS[wish.action]
    return partial(work, **{name: getattr(wish, name) for name in names})


def _filter_of(wish: ActionRequest) -> JobFilter:
    given = wish.filter
    ids = (
        None if given.ids is None else tuple(number_in_cursor(each, "j", "filter.ids") for each in given.ids)
    )
    return JobFilter(
        given.status, given.label, given.name, given.target, given.app, given.problem, given.search, ids
    )
