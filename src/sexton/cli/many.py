"""Acting on many jobs from the command line: count, ask, then chunk after chunk."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from sexton.api import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.client import path_of
from sexton.cli.command import Ask
from sexton.cli.output import Table, console, cut, paragraph, write, write_json
from sexton.cli.remote import confirm
from sexton.errors import InvalidField
from sexton.jobs.tally import Tally
from sexton.printable import counted

# What is done to the jobs, in the words before and after it.
WORDS = {
    "pause": ("Pause", "paused"),
    "resume": ("Resume", "resumed"),
    "run": ("Run", "run"),
    "delete": ("Delete", "deleted"),
    "label": ("Label", "labelled"),
}
NAMED = 3

DryRun = Annotated[bool, Parameter(help="Only say how many jobs are meant, and show some.")]
After = Annotated[str | None, Parameter(help="Go on after this job: its id, j_….")]
Key = Annotated[
    str | None,
    Parameter(help="The same command with the same key goes on where it was cut off, and runs no job twice."),
]


def named(ask: Ask, job: str | None, **for_many: Any) -> str | None:
    """The job that was named; None: a filter says which ones are meant."""
    if job is not None and ask.chosen:
        raise InvalidField(
            "bad_filter", f"the job {job} and a filter are given", field="job", hint="give one of them"
        )
    if job is None and not ask.chosen:
        hint = "name a job, or those that are meant: --label, --name 'bulk-*', --status … or --all"
        raise InvalidField("bad_filter", "nothing says which jobs are meant", field="job", hint=hint)
    for name, value in for_many.items():
        if job is not None and value:
            option = f"--{name.replace('_', '-')}"
            raise InvalidField(
                "bad_value", f"{option} is for many jobs", field=name, hint="leave it out, or give a filter"
            )
    return job


def act(
    ask: Ask,
    action: str,
    *,
    yes: bool,
    dry_run: bool,
    after: str | None = None,
    key: str | None = None,
    **options: Any,
) -> int:
    """Do it to all jobs of the filter, once the user has seen how many they are."""
    wish = {"action": action, "filter": dict(ask.chosen), **options}
    place = {} if after is None else {"after": after}
    found = _ask(ask, {**wish, **place, "dry_run": True})
    if dry_run or not found.matched:
        _show(ask, action, found)
        return DONE
    names = ", ".join(cut(job.name, 40) for job in found.sample[:NAMED]) + ", …" * (found.matched > NAMED)
    if not confirm(f"{WORDS[action][0]} {counted(found.matched, 'job')} ({names})?", yes):
        return NOT_DONE
    # A request that is repeated with its key must be the same: what was counted may not be.
    bounds = {} if key else {"through": found.through}
    first = {} if key or yes else {"expected": found.matched}
    done = Tally(cursor=after)
    with _Progress(found.matched, show=not ask.json) as progress:
        try:
            while True:
                chunk = _ask(
                    ask, {**wish, **bounds, **first, **place}, key and f"{key[:200]}#{place.get('after', '')}"
                )
                done, first = done.plus(chunk), {}
                progress.advance(chunk.matched)
                if done.cursor is None:
                    break
                place = {"after": done.cursor}
        except BaseException:
            progress.stop()
            _tell_where_to_go_on(action, done, key)
            raise
    _show(ask, action, done)
    return NOT_DONE if done.refused else DONE


def _ask(ask: Ask, wish: dict[str, Any], key: str | None = None) -> Tally:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer, _ = ask.client.request("POST", path_of(routes.ACT_ON_JOBS), wish, headers=headers)
    return msgspec.convert(answer, Tally)


def _tell_where_to_go_on(action: str, done: Tally, key: str | None) -> None:
    """What was done stays done, and is left alone by the same command; only runs are made anew."""
    if done.matched:
        again = "the same command goes on"
        if action == "run" and key is None:
            again = f"go on with --after {done.cursor}"
        write(console(error=True), f"It ends after {counted(done.matched, 'job')}: {again}.", "yellow")


def _show(ask: Ask, action: str, found: Tally) -> None:
    if ask.json:
        write_json({"action": action, **msgspec.to_builtins(found)})
        return
    out, beside = console(), console(error=True)
    if found.dry_run:
        _show_counted(action, found)
        return
    said = [f"{counted(found.done, 'job')} {WORDS[action][1]}"]
    said += [f"{found.unchanged:,} unchanged"] if found.unchanged else []
    said += [f"{found.refusals:,} refused"] if found.refused else []
    write(out, ", ".join(said))
    for each in found.refused:
        sample = ", ".join(each.sample) + ", …" * (each.jobs > len(each.sample))
        hint = f" ({each.hint})" if each.hint else ""
        paragraph(beside, f"{each.jobs:,} refused, {each.code}: {each.message}{hint}: {sample}", "yellow")


def _show_counted(action: str, found: Tally) -> None:
    out = console()
    if not found.matched:
        write(out, "No such jobs.")
        return
    table = Table("name", "id", "status", elastic=("name",))
    for job in found.sample:
        table.add(job.name, job.job_id, job.status)
    table.print(out)
    if found.matched > len(found.sample):
        write(out, f"… and {found.matched - len(found.sample):,} more", "dim")
    write(out, f"{counted(found.matched, 'job')} would be {WORDS[action][1]}")


class _Progress:
    """A bar on the standard error, if that is a terminal."""

    def __init__(self, jobs: int, *, show: bool) -> None:
        self._bar: Any = None
        if show and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            self._bar = Progress(
                BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                console=console(error=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=jobs)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def advance(self, jobs: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=jobs)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
