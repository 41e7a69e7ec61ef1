"""What Prometheus gets to see."""

from __future__ import annotations

from types import SimpleNamespace

from prometheus_client import generate_latest

from sexton.engine.scheduler.catch_up import CaughtUp
from sexton.engine.telemetry import Telemetry


def shown(telemetry: Telemetry) -> dict[str, float]:
    lines = generate_latest(telemetry.registry).decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }


def test_distributions_are_shown_as_histograms() -> None:
    telemetry = Telemetry()
    telemetry.run_seconds.observe(0.001)
    telemetry.run_seconds.observe_many([0.002, 0.2, 10_000])
    values = shown(telemetry)
    assert values['sexton_run_seconds_bucket{le="0.001"}'] == 1
    assert values['sexton_run_seconds_bucket{le="0.0025"}'] == 2
    assert values['sexton_run_seconds_bucket{le="0.25"}'] == 3
    assert values['sexton_run_seconds_bucket{le="+Inf"}'] == 4
    assert values["sexton_run_seconds_count"] == 4
    assert round(values["sexton_run_seconds_sum"], 3) == 10000.203


def test_labels_are_fixed() -> None:
    telemetry = Telemetry()
    telemetry.count_ends(["dead", "dead", "cancelled"])
    telemetry.count_failures(["timeout"])
    values = shown(telemetry)
    assert values['sexton_runs_ended_total{status="dead"}'] == 2
    assert values['sexton_runs_ended_total{status="success"}'] == 0
    assert values['sexton_attempts_failed_total{outcome="timeout"}'] == 1


def test_the_scheduler_is_read_when_asked() -> None:
    telemetry = Telemetry()
    scheduler, leadership = (
        SimpleNamespace(fired=1, caught_up=CaughtUp(), entries=7, over_quota=0),
        SimpleNamespace(
            fenced=0,
            shards_lost=0,
            led={1: 2},
            elector_health=SimpleNamespace(ok=False),
            firing=SimpleNamespace(able=False),
            membership=SimpleNamespace(time=SimpleNamespace(skew_seconds=-0.25)),
        ),
    )
    telemetry.watch_scheduler(scheduler, leadership)
    scheduler.fired = 3
    values = shown(telemetry)
    assert (values["sexton_fired_total"], values["sexton_wheel_entries"], values["sexton_shards_led"]) == (
        3,
        7,
        1,
    )
    assert values["sexton_scheduler_able"] == 0
    assert (values["sexton_elector_up"], values["sexton_clock_skew_seconds"]) == (0, -0.25)
