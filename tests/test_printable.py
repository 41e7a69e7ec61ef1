"""Text of others is harmless on a terminal and in a log."""

from __future__ import annotations

import io
import json
import logging

import pytest
from rich.console import Console

from sexton.cli.output import Table, paragraph, show_error, write, write_json
from sexton.engine.logs import UtcFormatter
from sexton.errors import SextonError
from sexton.printable import printable, printable_json
from sexton.targets.table import how_to_serve

# Clear the screen; the same with one character; turn the text around; hide; delete; a bell; a return.
EVIL = "a\x1b[2Jb\x9b2Jc\u202ed\u200be\x7ff\x07g\rh\u2066i"
CONTROLS = set("\x1b\x9b\u202e\u200b\x7f\x07\r\u2066")


def test_controls_are_replaced_and_lines_stay() -> None:
    assert printable(EVIL) == "a�[2Jb�2Jc�d�e�f�g�h�i"
    assert printable("one\n\ttwo ä 日本 \N{GRINNING FACE}") == "one\n\ttwo ä 日本 \N{GRINNING FACE}"


def test_json_keeps_the_values() -> None:
    text = json.dumps({EVIL: EVIL + "\U000e0041"}, ensure_ascii=False)
    assert not CONTROLS & set(printable_json(text))
    assert json.loads(printable_json(text)) == json.loads(text)


def test_whatever_the_command_line_prints_is_harmless(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    file = io.StringIO()
    out = Console(file=file, force_terminal=True, color_system=None, width=200)
    write(out, EVIL)
    paragraph(out, EVIL)
    table = Table("run", "error")
    table.add("r_1", f"{EVIL}\nsecond line", note=EVIL)
    table.print(out)
    assert len(file.getvalue().splitlines()) == 5
    assert not CONTROLS & set(file.getvalue())
    write_json({"error": EVIL})
    show_error(SextonError("code", EVIL, hint=EVIL), as_json=True)
    printed = b"".join(capsysbinary.readouterr()).decode()
    assert not CONTROLS & set(printed)


def test_the_log_is_harmless() -> None:
    record = logging.LogRecord("sexton", logging.WARNING, "", 0, "%s", (EVIL,), None)
    assert not CONTROLS & set(UtcFormatter("%(message)s").format(record))


def test_what_is_meant_to_be_pasted_is_quoted() -> None:
    assert how_to_serve("shell", "x; rm -rf ~").endswith("--shell-commands 'x; rm -rf ~'")
