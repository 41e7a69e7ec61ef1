"""What a process counts and measures, for Prometheus. Labels are few and fixed.

One `Telemetry` per process, passed to the parts that count. Histograms of the hot path are plain lists, and
become samples when they are scraped: a lock and a few calls per run would cost more than the run's own
bookkeeping.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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
    """Numbers that other parts count. They are read when they are scraped."""

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
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.claimed = counter("sexton_runs_claimed", "Runs claimed by this worker.")
        ended = counter("sexton_runs_ended", "Runs that ended here, by status.", ["status"])
        self.succeeded = ended.labels("success")
        self._ended = {status: ended.labels(status) for status in ("dead", "cancelled", "expired")}
        what = "Attempts that failed and are tried again, by outcome."
        attempts = counter("sexton_attempts_failed", what, ["outcome"])
        self._failed = {outcome: attempts.labels(outcome) for outcome in ("failed", "timeout", "snoozed")}
        self.lost = counter("sexton_leases_lost", "Outcomes dropped because the run had been taken over.")
        what = "Runs whose ids were given out again: the database has lost transactions."
        self.ids_recurred = counter("sexton_ids_recurred", what)
        what = "How often this process found that the database had lost commits."
        self.rewinds = counter("sexton_database_rewinds", what)
        self.waiting = counter("sexton_runs_waiting", "Runs sent on by this worker that wait for a report.")
        self.letters = counter("sexton_dead_letters_delivered", "Dead letters taken to their target.")
        what = "Log lines of handlers that were dropped: too many were waiting to be written."
        self.lines_dropped = counter("sexton_log_lines_dropped", what)
        self.released = counter("sexton_runs_released", "Runs given back unattempted.")
        self.identities = counter("sexton_worker_identities", "Times this worker became a (new) node.")
        self.blocked = counter("sexton_loop_blocked", "Times a handler blocked the event loop for a second.")
        self.running = gauge("sexton_runs_running", "Runs under way in this worker.")
        what = "Handlers that go on in this worker although they were stopped."
        self.left_behind = gauge("sexton_handlers_left_behind", what)
        what = "Hosts that this worker does not ask for a while, because they fail."
        self.circuits = gauge("sexton_http_circuits_open", what)
        self.loop_lag = gauge("sexton_loop_lag_seconds", "How late the event loop is.")
        reaped = counter("sexton_runs_reaped", "Runs of dead workers, by fate.", ["fate"])
        self.reaped = {fate: reaped.labels(fate) for fate in ("back", "poison", "cancelled")}
        self.expired = counter("sexton_runs_expired", "Runs that expired waiting.")
        self.rings_sent = counter("sexton_rings_sent", "Runs that the queue was told of.")
        what = "Fired runs that the queue was not told of: it is slow or away."
        self.rings_dropped = counter("sexton_rings_dropped", what)
        self.rings_received = counter("sexton_rings_received", "Runs that the queue has told this worker of.")
        what = "Runs of which the queue told this worker, and that could not be claimed."
        self.rings_empty = counter("sexton_rings_empty", what)
        what = "Requests that the api did not let in, by code: no_key, bad_key, too_many_keys, bad_host, …"
        self.denied = counter("sexton_api_denied", what, ["code"])
        self.replanned = counter("sexton_timers_replanned", "Timers moved by a new zone database.")
        self.run_seconds = Distribution("sexton_run_seconds", "How long attempts took.", registry)
        what = "How long after it was due an attempt began."
        self.late_seconds = Distribution("sexton_run_late_seconds", what, registry)

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
        Readings(self.registry, [], [("sexton_queue_up", "Whether the queue answers this node.", up)])

    def watch_scheduler(self, scheduler: Any, leadership: Any) -> None:
        """Show what the scheduler and its leadership count."""
        caught, firing, time = scheduler.caught_up, leadership.firing, leadership.membership.time
        quota = "Occurrences skipped by this node because of the live runs of their namespace."
        fenced = "Firings of this node that were refused, because another node leads the shard by now."
        lost = "Shards that another node has taken over from this one."
        able = "Whether this node can fire, or could if something were due."
        skew = "How far this machine's clock is ahead of the database's."
        counters = [
            ("sexton_fired", "Occurrences fired by this node.", lambda: scheduler.fired),
            (
                "sexton_caught_up",
                "Missed occurrences for which this node has made runs.",
                lambda: caught.runs,
            ),
            ("sexton_caught_up_jobs", "How often this node has caught up a job.", lambda: caught.jobs),
            ("sexton_missed_skipped", "Missed occurrences recorded as skipped.", lambda: caught.skipped),
            ("sexton_quota_skipped", quota, lambda: scheduler.over_quota),
            ("sexton_fenced", fenced, lambda: leadership.fenced),
            ("sexton_shards_lost", lost, lambda: leadership.shards_lost),
        ]
        gauges = [
            ("sexton_wheel_entries", "Timers in the wheel.", lambda: scheduler.entries),
            ("sexton_shards_led", "Shards led by this node.", lambda: len(leadership.led)),
            ("sexton_scheduler_able", able, lambda: firing.able),
            ("sexton_elector_up", "Whether the elector answers.", lambda: leadership.elector_health.ok),
            ("sexton_clock_skew_seconds", skew, lambda: time.skew_seconds),
        ]
        Readings(self.registry, counters, gauges)
