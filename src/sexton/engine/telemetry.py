"""What a process counts and measures, for Prometheus. Labels are few and fixed.

One `Telemetry` per process, handed to what needs it. Histograms of the hot path are kept in plain lists and
turned into samples when they are scraped: a lock and a few calls per run would cost more than the run's own
bookkeeping.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Distribution(Collector):
    """A histogram that is cheap to add to. Written by one thread."""

    def __init__(self, name: str, documentation: str, registry: CollectorRegistry) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = list(SECONDS)
        self._counts = [0] * (len(SECONDS) + 1)
        self._sum = 0.0
        registry.register(self)

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def observe_many(self, values: Iterable[float]) -> None:
        bounds, counts, total = self._bounds, self._counts, 0.0
        for value in values:
            counts[bisect_left(bounds, value)] += 1
            total += value
        self._sum += total

    def describe(self) -> Iterator[HistogramMetricFamily]:
        yield HistogramMetricFamily(self._name, self._documentation)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        buckets, so_far = [], 0
        for bound, count in zip([*map(str, self._bounds), "+Inf"], self._counts, strict=True):
            so_far += count
            buckets.append((bound, float(so_far)))
        family = HistogramMetricFamily(self._name, self._documentation)
        family.add_metric([], buckets, self._sum)
        yield family


class Readings(Collector):
    """Numbers that other parts count, read when they are scraped."""

    def __init__(
        self,
        registry: CollectorRegistry,
        counters: Sequence[tuple[str, str, Callable[[], float]]],
        gauges: Sequence[tuple[str, str, Callable[[], float]]],
    ) -> None:
        self._counters = counters
        self._gauges = gauges
        registry.register(self)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for name, documentation, read in self._counters:
            yield CounterMetricFamily(name, documentation, value=read())
        for name, documentation, read in self._gauges:
            yield GaugeMetricFamily(name, documentation, value=read())


class Telemetry:
    """The metrics of a process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.claimed = Counter("sexton_runs_claimed", "Runs claimed by this worker.", registry=registry)
        ended = Counter(
            "sexton_runs_ended", "Runs that ended here, by status.", ["status"], registry=registry
        )
        self.succeeded = ended.labels("success")
        self._ended = {status: ended.labels(status) for status in ("dead", "cancelled", "expired")}
        attempts = Counter(
            "sexton_attempts_failed",
            "Attempts that failed and are tried again, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self._failed = {outcome: attempts.labels(outcome) for outcome in ("failed", "timeout", "snoozed")}
        self.lost = Counter(
            "sexton_leases_lost", "Outcomes dropped because the run had been taken over.", registry=registry
        )
        self.ids_recurred = Counter(
            "sexton_ids_recurred",
            "Runs whose ids were given out again: the database has lost transactions.",
            registry=registry,
        )
        self.rewinds = Counter(
            "sexton_database_rewinds",
            "How often this process found that the database had lost what was committed.",
            registry=registry,
        )
        self.waiting = Counter(
            "sexton_runs_waiting", "Runs sent on by this worker that wait for a report.", registry=registry
        )
        self.letters = Counter(
            "sexton_dead_letters_delivered", "Dead letters taken to their target.", registry=registry
        )
        self.lines_dropped = Counter(
            "sexton_log_lines_dropped",
            "Log lines of handlers that were dropped: too many were waiting to be written.",
            registry=registry,
        )
        self.released = Counter("sexton_runs_released", "Runs given back unattempted.", registry=registry)
        self.identities = Counter(
            "sexton_worker_identities", "Times this worker became a (new) node.", registry=registry
        )
        self.blocked = Counter(
            "sexton_loop_blocked", "Times a handler blocked the event loop for a second.", registry=registry
        )
        self.running = Gauge("sexton_runs_running", "Runs under way in this worker.", registry=registry)
        self.left_behind = Gauge(
            "sexton_handlers_left_behind",
            "Handlers that go on in this worker although they were stopped.",
            registry=registry,
        )
        self.circuits = Gauge(
            "sexton_http_circuits_open",
            "Hosts that this worker does not ask for a while, because they fail.",
            registry=registry,
        )
        self.loop_lag = Gauge("sexton_loop_lag_seconds", "How late the event loop is.", registry=registry)
        reaped = Counter("sexton_runs_reaped", "Runs of dead workers, by fate.", ["fate"], registry=registry)
        self.reaped_back = reaped.labels("back")
        self.reaped_poison = reaped.labels("poison")
        self.reaped_cancelled = reaped.labels("cancelled")
        self.expired = Counter("sexton_runs_expired", "Runs that expired waiting.", registry=registry)
        self.rings_sent = Counter("sexton_rings_sent", "Runs that the queue was told of.", registry=registry)
        self.rings_dropped = Counter(
            "sexton_rings_dropped",
            "Fired runs that the queue was not told of: it is slow or away.",
            registry=registry,
        )
        self.rings_received = Counter(
            "sexton_rings_received", "Runs that the queue has told this worker of.", registry=registry
        )
        self.rings_empty = Counter(
            "sexton_rings_empty",
            "Runs of which the queue told this worker, and that could not be claimed.",
            registry=registry,
        )
        self.denied = Counter(
            "sexton_api_denied",
            "Requests that the api did not let in, by code: no_key, bad_key, too_many_keys, bad_host, …",
            ["code"],
            registry=registry,
        )
        self.replanned = Counter(
            "sexton_timers_replanned", "Timers moved by a new zone database.", registry=registry
        )
        self.run_seconds = Distribution("sexton_run_seconds", "How long attempts took.", registry)
        self.late_seconds = Distribution(
            "sexton_run_late_seconds", "How long after it was due an attempt began.", registry
        )

    def count_ends(self, statuses: Iterable[str]) -> None:
        for status in statuses:
            self._ended[status].inc()

    def count_reported(self, status: str) -> None:
        """The end of an attempt that an outside program has reported."""
        if status == "success":
            self.succeeded.inc()
        elif status == "failed":
            self.count_failures([status])
        else:
            self.count_ends([status])

    def count_failures(self, outcomes: Iterable[str]) -> None:
        for outcome in outcomes:
            self._failed[outcome].inc()

    def watch_queue(self, up: Callable[[], bool]) -> None:
        """Show whether the queue answers."""
        Readings(
            self.registry,
            counters=[],
            gauges=[("sexton_queue_up", "Whether the queue answers this node.", up)],
        )

    def watch_scheduler(self, scheduler: Any, leadership: Any) -> None:
        """Show what the scheduler and its leadership count."""
        Readings(
            self.registry,
            counters=[
                ("sexton_fired", "Occurrences fired by this node.", lambda: scheduler.fired),
                (
                    "sexton_caught_up",
                    "Missed occurrences for which this node has made runs.",
                    lambda: scheduler.caught_up.runs,
                ),
                (
                    "sexton_caught_up_jobs",
                    "How often this node has caught up a job.",
                    lambda: scheduler.caught_up.jobs,
                ),
                (
                    "sexton_missed_skipped",
                    "Missed occurrences that this node has recorded as skipped.",
                    lambda: scheduler.caught_up.skipped,
                ),
                (
                    "sexton_quota_skipped",
                    "Occurrences skipped by this node because of the live runs of their namespace.",
                    lambda: scheduler.over_quota,
                ),
                (
                    "sexton_fenced",
                    "Firings of this node that were refused, because another one leads by now.",
                    lambda: leadership.fenced,
                ),
                (
                    "sexton_shards_lost",
                    "Shards that another node has taken over from this one.",
                    lambda: leadership.shards_lost,
                ),
            ],
            gauges=[
                ("sexton_wheel_entries", "Timers in the wheel.", lambda: scheduler.entries),
                ("sexton_shards_led", "Shards led by this node.", lambda: len(leadership.led)),
                (
                    "sexton_scheduler_able",
                    "Whether this node can fire, or could if something were due.",
                    lambda: leadership.firing.able,
                ),
                (
                    "sexton_elector_up",
                    "Whether the elector answers this node.",
                    lambda: leadership.elector_health.ok,
                ),
                (
                    "sexton_clock_skew_seconds",
                    "How far this machine's clock is ahead of the database's.",
                    lambda: leadership.membership.time.skew_seconds,
                ),
            ],
        )
