"""Tables on terminals and in pipes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sexton.cli.output import StatusLine, Table, show_error
from sexton.errors import SextonError
from sexton.printable import counted


def printed(table: Table, width: int, *, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    table.print(Console(file=file, width=width, force_terminal=terminal, no_color=True, color_system=None))
    return file.getvalue().splitlines()


def letters() -> Table:
    table = Table("run", "job", "died", "error", elastic=("job", "error"))
    table.add("r_1", "a-job-with-quite-a-long-name", "2026-06-08 13:00:00Z", "HTTP 500: " + "x" * 60)
    table.add("r_2", "short", "2026-06-08 13:00:00Z", "timeout")
    return table


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal(width: int) -> None:
    lines = printed(letters(), width)
    assert len(lines) == 3
    assert max(map(len, lines)) <= width
    assert all("2026-06-08 13:00:00Z" in line for line in lines[1:])  # what is not elastic stays whole
    assert "…" in lines[1]


def test_the_widest_column_is_cut_first() -> None:
    assert "a-job-with-quite-a-long-name  2026" in printed(letters(), 90)[1]


def test_what_fits_and_what_goes_into_a_pipe_is_whole() -> None:
    for lines in (printed(letters(), 200), printed(letters(), 80, terminal=False)):
        assert lines[1].endswith("x" * 60)


def test_columns_are_left_wide_enough_to_be_told() -> None:
    line = printed(letters(), 20)[1]
    assert line == "r_1  a-job-w…  2026-06-08 13:00:00Z  HTTP 50…"


def test_spare_columns_are_left_out_where_cutting_is_not_enough() -> None:
    table = Table("node", "state", "skew", "version", elastic=("node",), spare=("skew", "version"))
    table.add("a-node-with-a-long-name", "draining", "-1234 ms", "1.2.3.dev4")
    assert printed(table, 32) == ["node      state     skew", "a-node-…  draining  -1234 ms"]
    assert printed(table, 22) == ["node      state", "a-node-…  draining"]
    assert printed(table, 22, terminal=False)[1].endswith("1.2.3.dev4")


def test_a_status_is_one_line_that_changes() -> None:
    file = io.StringIO()
    line = StatusLine(Console(file=file, width=20, force_terminal=True))
    for text in ("r_1: pending", "r_1: pending", "r_1: waits for a worker with handler x"):
        line.show(text)
    line.clear()
    assert file.getvalue() == "r_1: pending\r\x1b[2Kr_1: waits for a w…\r\x1b[2K"


def test_in_a_pipe_each_change_of_a_status_is_a_line() -> None:
    file = io.StringIO()
    line = StatusLine(Console(file=file, force_terminal=False))
    for text in ("r_1: pending", "r_1: pending", "r_1: running"):
        line.show(text)
    line.clear()
    assert file.getvalue() == "r_1: pending\nr_1: running\n"


@pytest.mark.parametrize(("terminal", "shown"), [(True, 2), (False, 1)])
def test_a_countdown_is_shown_only_on_a_line_that_changes(terminal: bool, shown: int) -> None:
    file = io.StringIO()
    line = StatusLine(Console(file=file, width=40, force_terminal=terminal))
    for countdown in (", in 2 s", ", in 1 s"):
        line.show("r_1: the retry is at 12:00", countdown)
    assert file.getvalue().count("r_1: the retry is at 12:00") == shown


def test_a_terminal_that_cannot_change_a_line_gets_a_line_for_each_change() -> None:
    file = io.StringIO()
    line = StatusLine(Console(file=file, force_terminal=True, _environ={"TERM": "dumb"}))
    line.show("r_1: running", ", in 2 s")
    line.clear()
    assert file.getvalue() == "r_1: running\n"


def test_one_thing_and_many() -> None:
    assert [counted(number, "job") for number in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]
    assert [counted(number, "second") for number in (1.0, 0.5)] == ["1 second", "0.5 seconds"]


def test_a_hint_of_several_lines_is_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(SextonError("code", "it\x1bs", hint="do this\n or that\x1b"), as_json=False)
    assert capsys.readouterr().err == "sexton: it\ufffds\n  do this\n  or that\ufffd\n"
