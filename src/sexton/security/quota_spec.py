"""The quotas of a namespace as people ask for them: apart, because the command line reads them without the
database."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.refusal import about

# The smallest and the largest value of every quota.
RANGES: dict[str, tuple[float, float]] = {
    "jobs": (0, 1_000_000_000),
    "live_runs": (1, 1_000_000_000),
    "firings_per_second": (0.001, 1_000_000),
    "payload_bytes": (1, 256 * 1024),
    "history_days": (1, 36_500),
    "campaign_sends_per_day": (0, 1_000_000_000_000),
}


class Quotas(msgspec.Struct, frozen=True, kw_only=True):
    """What a namespace may use at the most; null: as much as it likes."""

    jobs: Annotated[int | None, about("Jobs that are not deleted.")] = None
    live_runs: Annotated[
        int | None, about("Runs that have not ended. Occurrences beyond are skipped with the reason `quota`.")
    ] = None
    firings_per_second: Annotated[float | None, about("Runs that may start per second; others wait.")] = None
    payload_bytes: Annotated[int | None, about("Bytes of a payload, as JSON.")] = None
    history_days: Annotated[
        int | None, about("Days for which history is kept; at most those of the cluster.")
    ] = None
    campaign_sends_per_day: Annotated[
        int | None, about("Notifications that campaigns may send in a day.")
    ] = None


class QuotaChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Some quotas of a namespace; null removes one, what is left out stays."""

    description: Annotated[
        Annotated[str, Meta(max_length=1000)] | UnsetType | None, about("A description for people.")
    ] = UNSET
    jobs: Annotated[int | UnsetType | None, about("Jobs that are not deleted.")] = UNSET
    live_runs: Annotated[int | UnsetType | None, about("Runs that have not ended.")] = UNSET
    firings_per_second: Annotated[float | UnsetType | None, about("Runs that are made per second.")] = UNSET
    payload_bytes: Annotated[int | UnsetType | None, about("Bytes of a payload, as JSON.")] = UNSET
    history_days: Annotated[int | UnsetType | None, about("Days that its history is kept.")] = UNSET
    campaign_sends_per_day: Annotated[
        int | UnsetType | None, about("Notifications that campaigns may send in a day.")
    ] = UNSET
