"""`sexton bench` answers with one line of JSON, and fails when the ledger is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sexton import cli
from sexton.cli.bench import command as bench

GOOD = {
    "jobs": 10,
    "per_second": 5,
    "limit_per_second": 10,
    "ratio": 0.5,
    "lost": 0,
    "doubled": 0,
    "early": 0,
}


def measured(monkeypatch: pytest.MonkeyPatch, *results: dict[str, Any]) -> None:
    left = list(results)

    async def measure(url: str, **options: Any) -> dict[str, Any]:
        assert url == "postgresql://somewhere"
        return dict(left.pop(0))

    monkeypatch.setattr(bench, "measure_hot_second", measure)


def run(*tokens: str) -> int:
    return cli.run(["bench", "hot-second", "--database-url", "postgresql://somewhere", *tokens])


def test_the_last_line_is_json(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    measured(monkeypatch, GOOD)
    assert run("--json") == cli.DONE
    out, error = capfdbinary.readouterr()
    answer = json.loads(out.splitlines()[-1])
    assert {name: answer[name] for name in GOOD} == GOOD
    assert b"per second" in error


def test_the_best_of_several(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    measured(monkeypatch, GOOD, {**GOOD, "ratio": 0.35, "per_second": 7, "limit_per_second": 20}, GOOD)
    assert run("--json", "--repeat", "3") == cli.DONE
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["limits"] == [10, 20, 10]
    assert (answer["ratio"], answer["ratios"], answer["rates"]) == (0.35, [0.5, 0.35, 0.5], [5, 7, 5])


@pytest.mark.parametrize("fault", bench.FAULTS)
def test_a_wrong_ledger_is_a_failure(fault: str, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    measured(monkeypatch, {**GOOD, fault: 1}, {**GOOD, "ratio": 0.9})
    assert run("--repeat", "2") == cli.NOT_DONE
    assert "ledger is wrong" in capfd.readouterr().err


def test_numbers_below_one_are_refused(capfd: Any) -> None:
    assert run("--jobs", "0") == cli.REFUSED
    assert "at least 1" in capfd.readouterr().err
