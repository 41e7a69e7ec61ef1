"""The checker finds what it is for: each doctored history is wrong in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.checker import Fired, Job, Ledger, Line, Skipped, check
from tests.faults.oracle import Cron, Every, Rule, occurrences

BEGAN = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
UNTIL = BEGAN + timedelta(seconds=60)
LATE = timedelta(milliseconds=20)
TICK, TOCK = 1, 2


def good() -> Ledger:
    """Two jobs for a minute: all of one fired, the other with a counted gap; process 100 is node 7."""
    jobs = [
        Job(TICK, "tick", Every(5, BEGAN), BEGAN, effects=True),
        Job(TOCK, "tock", Cron("*/10 * * * * *", "Asia/Tokyo"), BEGAN, lenient=True),
    ]
    ledger = Ledger(jobs, processes={7: 100, 8: 200})
    gap = (BEGAN + timedelta(seconds=20), BEGAN + timedelta(seconds=40))
    for job in jobs:
        for at in occurrences(job.rule, BEGAN, UNTIL):
            if job.id == TOCK and gap[0] <= at <= gap[1]:
                continue
            run = 100 * job.id + int((at - BEGAN).total_seconds())
            ledger.fired.append(Fired(run, job.id, at, at + LATE, "success", at + 2 * LATE, 1, 7))
            ledger.lines.append(Line(run, at + LATE, 1, 100, job.id, at, "start", at + 2 * LATE, str(run)))
            ledger.lines.append(Line(run, at + LATE, 1, 100, job.id, at, "end", at + 3 * LATE, str(run)))
            if job.effects:
                ledger.effects.append((job.id, at))
    ledger.skipped.append(Skipped(TOCK, *gap, 3, "coalesced"))
    return ledger


def test_a_good_history_passes() -> None:
    report = check(good(), UNTIL)
    assert report.findings == {}
    assert (report.expected, report.fired, report.skipped) == (18, 15, {"coalesced": 3})
    assert report.late == pytest.approx(0.02)
    assert report.began_late == pytest.approx(0.04)


def test_after_a_standstill_a_later_one_may_run_for_the_others() -> None:
    ledger = good()
    ticks = [run for run in ledger.fired if run.job == TICK]
    gone, following = ticks[3:6], ticks[6]
    times = [run.scheduled_at for run in gone]
    ledger.fired = [run for run in ledger.fired if run not in gone]
    late = times[0] + timedelta(seconds=16)
    ledger.fired[ledger.fired.index(following)] = replace(following, fired_at=late)
    ledger.lines = [
        replace(line, fired_at=late) if line.run == following.run else line
        for line in ledger.lines
        if line.run not in {run.run for run in gone}
    ]
    ledger.effects = [(job, at) for job, at in ledger.effects if at not in times]
    ledger.skipped.append(Skipped(TICK, times[0], times[-1], 3, "coalesced"))
    assert check(ledger, UNTIL).findings == {}


def test_a_run_that_a_failover_lost_may_have_had_the_same_number() -> None:
    """Its handler was carried out, and nothing else is left of it."""
    ledger = good()
    for line in ledger.lines[6:8]:
        ledger.lines.append(replace(line, fired_at=line.fired_at - LATE, job=TOCK))
    assert check(ledger, UNTIL).findings == {}


def test_a_claim_that_a_failover_lost_may_recur() -> None:
    """The run was carried out under it, and again under the same number, by another process."""
    ledger = good()
    start, end = ledger.lines[6:8]
    before = timedelta(milliseconds=1)
    for line in (start, end):
        ledger.lines.append(replace(line, process=200, at=start.at - before, execution="lost"))
    assert "doubled" in check(ledger, UNTIL).findings
    ledger.rewound_at = start.at - before
    assert check(ledger, UNTIL).findings == {}
    ledger.lines += [replace(line, process=200, execution="twice") for line in (start, end)]
    assert "doubled" in check(ledger, UNTIL).findings


def test_nothing_is_expected_of_a_job_after_its_end() -> None:
    ledger = good()
    gone = [run for run in ledger.fired if run.job == TICK][-3:]
    ledger.jobs[0] = replace(ledger.jobs[0], until=gone[0].scheduled_at - LATE)
    assert any("is no occurrence" in text for text in check(ledger, UNTIL).doubled)
    ledger.fired = [run for run in ledger.fired if run not in gone]
    ledger.effects = ledger.effects[:-3]
    assert check(ledger, UNTIL).findings == {}


def drop_run(ledger: Ledger) -> None:
    del ledger.fired[3]


def drop_skip(ledger: Ledger) -> None:
    ledger.skipped.clear()


def miscount_skips(ledger: Ledger) -> None:
    ledger.skipped[0] = replace(ledger.skipped[0], count=2)


def skip_instead(ledger: Ledger) -> None:
    """Of a job whose policy does not let anything be skipped."""
    at = ledger.fired.pop(3).scheduled_at
    ledger.skipped.append(Skipped(TICK, at, at, 1, "missed"))


def coalesce_after_a_hiccup(ledger: Ledger) -> None:
    """The next one ran for it, five seconds later: nothing stood still."""
    at = ledger.fired.pop(3).scheduled_at
    ledger.skipped.append(Skipped(TICK, at, at, 1, "coalesced"))


def lose_effect(ledger: Ledger) -> None:
    del ledger.effects[0]


def double_run(ledger: Ledger) -> None:
    ledger.fired.append(replace(ledger.fired[3], run=999, status="cancelled"))


def record_twice(ledger: Ledger) -> None:
    ledger.fired.append(ledger.fired[3])


def skip_what_fired(ledger: Ledger) -> None:
    at = ledger.fired[3].scheduled_at
    ledger.skipped.append(Skipped(TICK, at, at, 1, "missed"))


def fire_between(ledger: Ledger) -> None:
    at = ledger.fired[3].scheduled_at + timedelta(seconds=1)
    ledger.fired.append(Fired(999, TICK, at, at + LATE, "cancelled"))


def repeat_execution(ledger: Ledger) -> None:
    ledger.lines.append(replace(ledger.lines[6], process=200))


def double_effect(ledger: Ledger) -> None:
    ledger.effects.append(ledger.effects[0])


def fire_early(ledger: Ledger) -> None:
    run = ledger.fired[3]
    ledger.fired[3] = replace(run, fired_at=run.scheduled_at - timedelta(milliseconds=1))


def begin_early(ledger: Ledger) -> None:
    run = ledger.fired[3]
    ledger.fired[3] = replace(run, started_at=run.scheduled_at - timedelta(milliseconds=1))


def carry_out_early(ledger: Ledger) -> None:
    line = ledger.lines[6]
    ledger.lines[6] = replace(line, at=line.scheduled_at - timedelta(milliseconds=1))


def finish_with_old_claim(ledger: Ledger) -> None:
    """Process 200 had taken the run over when process 100 finished it."""
    ledger.lines.append(replace(ledger.lines[6], claim=2, process=200))


def finish_as_another(ledger: Ledger) -> None:
    ledger.fired[3] = replace(ledger.fired[3], node=8)


def finish_unseen(ledger: Ledger) -> None:
    del ledger.lines[7]


def finish_with_what_was_lost(ledger: Ledger) -> None:
    """Only the run of that number that a failover has lost came to its end, a while before."""
    line = ledger.lines[7]
    ledger.lines[7] = replace(line, fired_at=line.fired_at - timedelta(milliseconds=1))


def finish_for_another_job(ledger: Ledger) -> None:
    ledger.lines[7] = replace(ledger.lines[7], job=TOCK)


def leave_open(ledger: Ledger) -> None:
    ledger.fired[-1] = replace(ledger.fired[-1], status="live")


@pytest.mark.parametrize(
    ("doctor", "finding"),
    [
        (drop_run, "lost"),
        (drop_skip, "lost"),
        (miscount_skips, "lost"),
        (skip_instead, "lost"),
        (coalesce_after_a_hiccup, "lost"),
        (lose_effect, "lost"),
        (double_run, "doubled"),
        (record_twice, "doubled"),
        (skip_what_fired, "doubled"),
        (fire_between, "doubled"),
        (repeat_execution, "doubled"),
        (double_effect, "doubled"),
        (fire_early, "early"),
        (begin_early, "early"),
        (carry_out_early, "early"),
        (finish_with_old_claim, "stale"),
        (finish_as_another, "stale"),
        (finish_unseen, "stale"),
        (finish_with_what_was_lost, "stale"),
        (finish_for_another_job, "stale"),
        (leave_open, "unfinished"),
    ],
)
def test_a_doctored_history_is_caught(doctor: Callable[[Ledger], None], finding: str) -> None:
    ledger = good()
    doctor(ledger)
    report = check(ledger, UNTIL)
    assert finding in report.findings, report
    assert f"  {finding}: " in str(report)


@pytest.mark.parametrize(
    ("rule", "times"),
    [
        (Every(20, BEGAN), ["12:00:20", "12:00:40", "12:01:00"]),
        (Every(7200, BEGAN - timedelta(hours=2)), []),
        (Every(45, BEGAN + timedelta(seconds=10)), ["12:00:10", "12:00:55"]),
        (Cron("30 * * * * *"), ["12:00:30"]),
        (Cron("0,15-16 * 21 * * *", "Asia/Tokyo"), ["12:00:15", "12:00:16", "12:01:00"]),
        (Cron("*/30 1 * * * *"), ["12:01:00"]),
        (Cron("* * 12 * * *", "Asia/Tokyo"), []),
    ],
)
def test_the_oracle_by_hand(rule: Rule, times: list[str]) -> None:
    assert [f"{at:%H:%M:%S}" for at in occurrences(rule, BEGAN, UNTIL)] == times
