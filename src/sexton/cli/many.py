"""Acting on many things, such as jobs, runs or messages: count them, ask for confirmation, then act in
chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from cyclopts import Parameter

from sexton.api.content.routes import ACT_ON_CONTENT, ACT_ON_RELEASES
from sexton.api.jobs import routes
from sexton.api.notifications.campaign_routes import ACT_ON_CAMPAIGNS
from sexton.api.notifications.routes import ACT_ON_NOTIFICATIONS, ACT_ON_RECIPIENTS, ACT_ON_TEMPLATES
from sexton.api.route import Route
from sexton.api.runs.routes import ACT_ON_RUNS
from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import path_of
from sexton.cli.command import Ask
from sexton.cli.output import ProgressBar, Table, console, cut, paragraph, write, write_json
from sexton.cli.remote import confirm
from sexton.errors import InvalidField
from sexton.jobs.tally import ItemTally, SampledItem, Tally
from sexton.printable import counted
from sexton.runs.tally import RunTally

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

NAMED = 3
#: Fields of a request for many that have no options.
HOW = ("action", "filter", "dry_run", "expected", "after", "limit")


class Many(NamedTuple):
    """A kind of object: its name, how it is shown, and its actions in words, before and after."""

    noun: str
    route: Route
    tally: type[Tally] | type[RunTally] | type[ItemTally]
    words: Mapping[str, tuple[str, str]]
    #: Actions that have a second effect when they are repeated.
    anew: tuple[str, ...]
    columns: tuple[str, ...]
    row: Callable[[Any], tuple[str, ...]]
    title: Callable[[Any], str]
    choose: str
    #: The server is always told how many are expected.
    always_expected: bool = False


JOBS = Many(
    "job",
    routes.ACT_ON_JOBS,
    Tally,
    {
        "pause": ("Pause", "paused"),
        "resume": ("Resume", "resumed"),
        "run": ("Run", "run"),
        "delete": ("Delete", "deleted"),
        "restore": ("Restore", "restored"),
        "label": ("Label", "labelled"),
    },
    ("run",),
    ("name", "id", "status"),
    lambda job: (job.name, job.job_id, job.status),
    lambda job: cut(job.name, 40),
    "--label, --name 'bulk-*', --status … or --all",
)
RUNS = Many(
    "run",
    ACT_ON_RUNS,
    RunTally,
    {"cancel": ("Cancel", "cancelled"), "again": ("Repeat", "repeated")},
    ("again",),
    ("job", "run", "status"),
    lambda run: (run.job_name, run.run_id, run.status),
    lambda run: f"{run.run_id} of {cut(run.job_name, 40)}",
    "--job, --status dead, --queue … or --all",
)


def _of_items(
    noun: str,
    route: Route,
    words: Mapping[str, tuple[str, str]],
    choose: str,
    *,
    anew: tuple[str, ...] = (),
    always_expected: bool = False,
) -> Many:
    def row(item: SampledItem) -> tuple[str, ...]:
        return item.name, item.id, item.status or ""

    def title(item: SampledItem) -> str:
        return cut(item.name, 40)

    columns = ("name", noun, "status")
    return Many(noun, route, ItemTally, words, anew, columns, row, title, choose, always_expected)


MESSAGES = _of_items(
    "message",
    ACT_ON_NOTIFICATIONS,
    {"cancel": ("Cancel", "cancelled"), "restore": ("Restore", "restored")},
    "--to, --template, --campaign … or --all",
)
CAMPAIGNS = _of_items(
    "campaign",
    ACT_ON_CAMPAIGNS,
    {
        "start": ("Start", "started"),
        "pause": ("Pause", "paused"),
        "resume": ("Resume", "resumed"),
        "cancel": ("Cancel", "cancelled"),
    },
    "--status, --search or --all",
)
TEMPLATES = _of_items(
    "template",
    ACT_ON_TEMPLATES,
    {"delete": ("Delete", "deleted"), "restore": ("Restore", "restored")},
    "--search or --all",
)
RECIPIENTS = _of_items(
    "recipient",
    ACT_ON_RECIPIENTS,
    {
        "suppress": ("Send nothing any more to", "suppressed"),
        "unsuppress": ("Send again to", "unsuppressed"),
        "erase": ("Erase all traces of", "erased"),
    },
    "--search or --all",
    always_expected=True,
)
PLANNED = {
    "cancel": ("Cancel", "cancelled"),
    "restore": ("Restore", "restored"),
    "approve": ("Approve", "approved"),
    "move": ("Move", "moved"),
}
CONTENT = _of_items(
    "action", ACT_ON_CONTENT, PLANNED, "--type, --created-by, --start … or --all", anew=("move",)
)
RELEASES = _of_items(
    "release", ACT_ON_RELEASES, PLANNED, "--search, --created-by, --start … or --all", anew=("move",)
)

DryRun = Annotated[bool, Parameter(help="Only count what would be changed, and show some of it.")]
After = Annotated[
    str | None, Parameter(help="Continue after this id, which an interrupted command has shown.")
]
Key = Annotated[
    str | None,
    Parameter(
        help="Key of this command. With the same key an interrupted one continues; nothing is done twice."
    ),
]


def named(ask: Ask, one: str | None, what: Many = JOBS, **for_many: Any) -> str | None:
    """The job, run or message that was named; None: a filter selects them."""
    noun = what.noun
    if one is not None and ask.chosen:
        raise InvalidField(
            "bad_filter", f"the {noun} {one} and a filter are given", field=noun, hint="give one of them"
        )
    if one is None and not ask.chosen:
        hint = f"name a {noun}, or select them: {what.choose}"
        raise InvalidField("bad_filter", f"neither a {noun} nor a filter is given", field=noun, hint=hint)
    for name, value in for_many.items():
        if one is not None and value:
            option = f"--{name.replace('_', '-')}"
            hint = "leave it out, or give a filter"
            raise InvalidField("bad_value", f"{option} is for many {noun}s", field=name, hint=hint)
    return one


def act_on(
    ask: Ask,
    one: str | None,
    action: str,
    view: Callable[[Any], int | None],
    what: Many = JOBS,
    *,
    yes: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    """Act on the one that was named and show the answer, or on all that match the filter."""
    if (one := named(ask, one, what, dry_run=dry_run)) is None:
        return act(ask, action, what, yes=yes, dry_run=dry_run, **options)
    return replace(ask, path=(one,)).shown(view)


def act_alike(
    ask: Ask,
    one: str | None,
    action: str,
    view: Callable[[Any], int | None],
    what: Many,
    *,
    yes: bool,
    dry_run: bool,
) -> int:
    """As `act_on`, but options other than the reason are only for one; the reason is for the audit."""
    if one is None:
        options = dict(ask.given)
        ask.client.reason = options.pop("reason", None) or ask.client.reason
        for name in options:
            message, hint = f"--{name} is for one {what.noun}", f"name the {what.noun}"
            raise InvalidField("bad_value", message, field=name, hint=hint)
    return act_on(ask, one, action, view, what, yes=yes, dry_run=dry_run)


def act_on_one(ask: Ask, action: str, what: Many, one: str, **options: Any) -> int:
    """Act on one by the route for many."""
    done = _ask(ask, what, {"action": action, "filter": {"ids": [one]}, **options})
    _show(ask, what, action, done)
    return NOT_DONE if done.refused else DONE


def act(
    ask: Ask,
    action: str,
    what: Many = JOBS,
    *,
    yes: bool,
    dry_run: bool,
    after: str | None = None,
    key: str | None = None,
    **options: Any,
) -> int:
    """Act on all that match the filter, after the user has confirmed their number."""
    wish = {"action": action, "filter": dict(ask.chosen), **options}
    place = {} if after is None else {"after": after}
    found = _ask(ask, what, {**wish, **place, "dry_run": True})
    if dry_run or not (found.matched or found.estimated):
        _show(ask, what, action, found)
        return DONE
    names = ", ".join(map(what.title, found.sample[:NAMED])) + ", …" * (found.matched > NAMED)
    if not confirm(f"{what.words[action][0]} {_counted(what, found)}{names and f' ({names})'}?", yes):
        return NOT_DONE
    # A request that is repeated with its key must be the same, but the count may have changed.
    bounds = {} if key or found.through is None else {"through": found.through}
    # An estimate is no bound: more may be there a moment later.
    unsaid = (key or yes or found.estimated) and not what.always_expected
    first = {} if unsaid else {"expected": found.matched}
    done = what.tally(cursor=after)
    with ProgressBar(_columns, found.matched, show=not ask.json) as progress:
        try:
            while True:
                wished = {**wish, **bounds, **first, **place}
                chunk = _ask(ask, what, wished, key and f"{key[:200]}#{place.get('after', '')}")
                done, first = done.plus(chunk), {}
                progress.advance(chunk.matched)
                if done.cursor is None:
                    break
                place = {"after": done.cursor}
        except BaseException:
            progress.stop()
            _tell_where_to_go_on(what, action, done, key)
            raise
    _show(ask, what, action, done)
    return NOT_DONE if done.refused else DONE


def _ask(ask: Ask, what: Many, wish: dict[str, Any], key: str | None = None) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer, _ = ask.client.request("POST", path_of(what.route), wish, headers=headers)
    return msgspec.convert(answer, what.tally)


def _tell_where_to_go_on(what: Many, action: str, done: Any, key: str | None) -> None:
    """Say how to continue: repeating the command skips what was done, except for actions in `anew`."""
    if done.matched:
        again = "repeat the command to continue"
        if action in what.anew and key is None:
            again = f"continue with --after {quote(done.cursor)}"
        write(console(error=True), f"It stopped after {counted(done.matched, what.noun)}: {again}.", "yellow")


def _counted(what: Many, found: Any) -> str:
    if found.estimated:
        return f"{counted(found.matched, what.noun)} or more"
    return counted(found.matched, what.noun)


def _show(ask: Ask, what: Many, action: str, found: Any) -> None:
    if ask.json:
        write_json({"action": action, **msgspec.to_builtins(found)})
        return
    out, beside = console(), console(error=True)
    if found.dry_run:
        _show_counted(what, action, found)
        return
    said = [f"{counted(found.done, what.noun)} {what.words[action][1]}"]
    said += [f"{found.requested:,} asked to stop"] if found.requested else []
    said += [f"{found.unchanged:,} unchanged"] if found.unchanged else []
    said += [f"{found.refusals:,} refused"] if found.refused else []
    write(out, ", ".join(said))
    for each in found.refused:
        sample = ", ".join(each.sample) + ", …" * (each.count > len(each.sample))
        hint = f" ({each.hint})" if each.hint else ""
        paragraph(beside, f"{each.count:,} refused, {each.code}: {each.message}{hint}: {sample}", "yellow")


def _show_counted(what: Many, action: str, found: Any) -> None:
    out = console()
    if not (found.matched or found.estimated):
        write(out, f"No such {what.noun}s.")
        return
    table = Table(*what.columns, elastic=what.columns[:1])
    for each in found.sample:
        table.add(*what.row(each))
    table.print(out)
    if found.matched > len(found.sample):
        write(out, f"… and {found.matched - len(found.sample):,} more", "dim")
    write(out, f"{_counted(what, found)} would be {what.words[action][1]}")


def _columns() -> list[ProgressColumn]:
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    return [BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
