"""The specifications that callers write: a job, and the limits of a queue, with all defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.model import LONGEST_QUEUE, PRIORITY_LOWEST, Backoff, MissedWindow, Overlap, RetryJitter
from sexton.refusal import about
from sexton.targets.base import TargetJson

TEN_YEARS = 10 * 366 * 86_400
MONTH = 30 * 86_400
MOST_LABELS = 64


def choice(*values: str) -> Meta:
    """The allowed texts, for the documentation. The parser of schedules refuses others."""
    return Meta(extra_json_schema={"enum": list(values)})


#: Of a single local time. A job has more choices, since its schedule has many times.
SingleFold = Annotated[
    Annotated[str, choice("first", "second")] | None,
    about("Which one is meant of a local time that happens twice: first or second."),
]
SingleGap = Annotated[
    Annotated[str, choice("after", "shift")] | None,
    about("What is meant by a local time that does not exist: after or shift."),
]


class JobSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A job as a caller writes it.

    Each field is declared here once: its type, range, default and meaning. Validation, the API, the command
    line and the documentation use this declaration.
    """

    name: Annotated[str, Meta(max_length=200, description="Unique among live jobs; at most 200 characters.")]
    schedule: Annotated[
        str,
        Meta(
            description="When: a cron line, an RRULE, an interval such as `every 15m`, "
            "one instant, or `in 10m`.",
            examples=["0 9 * * 1-5", "every 15m"],
        ),
    ]
    timezone: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        about("The zone of the wall clock, such as Europe/Berlin. Default: UTC."),
    ] = None
    kind: Annotated[
        Annotated[str, choice("cron", "recurrence", "interval", "once")] | None,
        about("cron, recurrence, interval or once. Default: told from the text."),
    ] = None
    anchor: Annotated[
        datetime | None,
        about("The start of intervals and recurrences. Default: starts_at, else the creation time."),
    ] = None
    gap: Annotated[
        Annotated[str, choice("after", "shift", "skip")] | None,
        about("A local time that does not exist: after, shift or skip."),
    ] = None
    fold: Annotated[
        Annotated[str, choice("first", "second", "both")] | None,
        about("A local time that happens twice: first, second or both."),
    ] = None
    seconds: Annotated[
        Annotated[str, choice("first", "last")] | None,
        about("Which of six cron fields holds the seconds: first or last. Default: first."),
    ] = None
    starts_at: Annotated[datetime | None, about("Nothing fires before this instant.")] = None
    ends_at: Annotated[datetime | None, about("Nothing fires after this instant.")] = None
    exclude: Annotated[
        list[str],
        Meta(
            max_length=1000,
            description="Dates, or ranges A/B of dates, on which nothing fires.",
            examples=[["2026-12-25", "2026-12-24/2027-01-02"]],
        ),
    ] = []
    target: Annotated[
        TargetJson | None,
        about("Who carries it out, such as a handler. Default: the handler with the job's name."),
    ] = None
    payload: Annotated[Any, about("What the handler gets: any JSON up to 256 KiB.")] = None
    queue: Annotated[
        str,
        Meta(
            max_length=LONGEST_QUEUE,
            description="The queue of its runs: workers of this queue carry them out.",
        ),
    ] = "default"
    priority: Annotated[
        int, Meta(ge=0, le=PRIORITY_LOWEST, description="The priority in the queue, 0 (first) to 3 (last).")
    ] = 2
    max_retries: Annotated[
        int, Meta(ge=0, le=100, description="Tries after the first one: 3 means at most four attempts.")
    ] = 3
    retry_backoff: Annotated[
        Backoff, about("How the wait between attempts grows: fixed, linear or exponential.")
    ] = Backoff.EXPONENTIAL
    retry_base_seconds: Annotated[
        int, Meta(ge=0, le=MONTH, description="The wait before the second attempt.")
    ] = 60
    retry_max_seconds: Annotated[
        int, Meta(ge=0, le=MONTH, description="The longest wait between attempts.")
    ] = 3600
    retry_jitter: Annotated[RetryJitter, about("none, or full: a random part of the wait.")] = (
        RetryJitter.NONE
    )
    timeout_seconds: Annotated[int, Meta(ge=1, le=MONTH, description="How long an attempt may take.")] = 300
    missed_window: Annotated[
        MissedWindow | None,
        about(
            "What happens to missed times: SKIP, RUN_ONCE (the default) or RUN_ALL (each, one after another)."
        ),
    ] = None
    max_missed: Annotated[
        int, Meta(ge=0, le=10_000, description="How many missed times RUN_ALL runs at most.")
    ] = 100
    catch_up_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=TEN_YEARS)] | None,
        about(
            "A time that was missed by more than this does not run. "
            "Default: the setting of this name, else no limit; a day for RUN_ALL."
        ),
    ] = None
    grace_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=86_400,
            description="Up to this late, a time counts as late, not as missed; at least a second. If the "
            "next time has come as well, at most 10 s.",
        ),
    ] = 60
    overlap: Annotated[
        Overlap, about("If the run before has not ended: ALLOW, SKIP, QUEUE_ONE or CANCEL_RUNNING.")
    ] = Overlap.ALLOW
    jitter_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=86_400,
            description="Delays all runs by an offset of the job, fixed and at most so long, to spread jobs.",
        ),
    ] = 0
    expires_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=TEN_YEARS)] | None,
        about("A run expires if it has not started this long after its time."),
    ] = None
    max_runs: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 1)] | None, about("How often it fires in total.")
    ] = None
    idempotency_key_template: Annotated[
        str | None, about("The key every target receives, such as `report-{{week}}`.")
    ] = None
    concurrency_key: Annotated[
        str | None,
        about("The queue limits how many runs with one key run at a time: `{{payload.customer}}`."),
    ] = None
    dead_letter_target: Annotated[
        TargetJson | None, about("An http or message target that receives every dead letter of the job.")
    ] = None
    keep_completed_seconds: Annotated[
        int, Meta(ge=0, le=TEN_YEARS, description="How long a completed one-off job is kept.")
    ] = 86_400
    labels: Annotated[
        dict[str, str],
        Meta(
            max_length=MOST_LABELS,
            description="Your own names and values, to find jobs by.",
            examples=[{"team": "billing"}],
        ),
    ] = {}
    description: Annotated[
        Annotated[str, Meta(max_length=10_000)] | None, about("A description for people.")
    ] = None
    owner: Annotated[Annotated[str, Meta(max_length=200)] | None, about("Whom to ask.")] = None


DEFAULTS = JobSpec(name="", schedule="")

# The fields that have their own column in a job's row; the others are in the column `options`.
COLUMNS = (
    "name",
    "schedule",
    "timezone",
    "kind",
    "anchor",
    "target",
    "payload",
    "labels",
    "description",
    "owner",
)
JSON_COLUMNS = ("target", "payload", "labels")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of a queue; null is none."""

    concurrency: Annotated[int | None, about("Runs at a time, in the whole cluster.")] = None
    key_concurrency: Annotated[int | None, about("Runs at a time that share a `concurrency_key`.")] = None
    rate: Annotated[float | None, about("Starts per second, retries included.")] = None
    burst: Annotated[
        int | None, about("Starts at once after a pause. Default: the starts of one second, at least one.")
    ] = None


class LimitChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Some limits of a queue; null removes one, what is left out stays."""

    concurrency: Annotated[int | UnsetType | None, about("Runs at a time, in the whole cluster.")] = UNSET
    key_concurrency: Annotated[
        int | UnsetType | None, about("Runs at a time that share a `concurrency_key`.")
    ] = UNSET
    rate: Annotated[float | UnsetType | None, about("Starts per second, retries included.")] = UNSET
    burst: Annotated[int | UnsetType | None, about("Starts at once after a pause.")] = UNSET
