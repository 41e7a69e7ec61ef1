"""A field of a job is declared once, in `JobSpec`: every face shows it with default, range and meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
import pytest
from msgspec import inspect
from msgspec.structs import FieldInfo

from sexton.api import openapi
from sexton.api.application import operations
from sexton.app.fields import JobFields
from sexton.jobs.spec import JobSpec
from sexton.postgres.statement import load_all
from sexton.refusal import types_at
from sexton.schedules.parse import Kind
from sexton.schedules.zone import Fold, Gap
from tests.cli.conftest import sexton as sexton

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

FIELDS = msgspec.structs.fields(JobSpec)
PAGE = Path(__file__).parent.parent / "docs" / "concepts.md"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found: dict[str, Any] = openapi.document(operations(), keys=False)["components"]["schemas"]["JobSpec"]
    return found


def meaning(field: FieldInfo) -> str:
    kind = inspect.type_info(field.type)
    assert isinstance(kind, inspect.Metadata), field.name
    return str((kind.extra_json_schema or {})["description"])


def bounds(field: FieldInfo) -> str:
    """As the documentation shows them: `0–3`, `200 characters`, `64 entries`."""
    for kind in types_at(field.type):
        plain = kind.type if isinstance(kind, inspect.Metadata) else kind
        if isinstance(plain, inspect.IntType) and plain.le is not None:
            return f"{plain.ge:,}–{plain.le:,}"
        longest = getattr(plain, "max_length", None)
        if longest is not None:
            return f"{longest:,} {'characters' if isinstance(plain, inspect.StrType) else 'entries'}"
    return ""


def default(field: FieldInfo) -> str:
    if field.required:
        return "required"
    if field.default is not msgspec.NODEFAULT:
        return "–" if field.default is None else f"`{field.default}`"
    assert callable(field.default_factory)
    return f"`{msgspec.json.encode(field.default_factory()).decode()}`"


def row(field: FieldInfo) -> str:
    return f"| `{field.name}` | {default(field)} | {bounds(field)} | {meaning(field)} |"


def test_the_documentation_has_the_table_of_fields() -> None:
    head = "| field | default | range | meaning |\n|---|---|---|---|\n"
    wanted = head + "\n".join(map(row, FIELDS)) + "\n\n"
    assert wanted in PAGE.read_text("utf-8"), f"write this into docs/concepts.md:\n\n{wanted}"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_the_api_describes_it(schema: dict[str, Any], field: FieldInfo) -> None:
    described = schema["properties"][field.name]
    assert described["description"] == meaning(field)
    assert ("default" in described) is not field.required
    assert (field.name in schema["required"]) is field.required
    for kind in types_at(field.type):
        if isinstance(kind, inspect.IntType):
            shown = next(each for each in described.get("anyOf", [described]) if each["type"] == "integer")
            assert (shown["minimum"], shown["maximum"]) == (kind.ge, kind.le)


def test_no_statement_has_a_default_of_its_own() -> None:
    """A statement that needs the default of a field gets it as a parameter."""
    names = "|".join(field.name for field in FIELDS)
    literal = re.compile(rf"coalesce\([^,]*->> '(?:{names})'[^,]*, *(?:'|[0-9])")
    found = [name for name, statement in load_all().items() if literal.search(statement.text)]
    assert found == []


def test_the_command_line_has_an_option_for_each(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    lines = sexton("jobs", "add", "--help").out.splitlines()
    for field in FIELDS:
        flag = {"name": "NAME", "labels": "--label"}.get(field.name, f"--{field.name.replace('_', '-')}")
        [line] = [line for line in lines if re.match(rf"\W*{flag}\b(?!-)", line)]
        if field.name != "name":
            assert meaning(field).replace("`", "") in line
        if not field.required and isinstance(field.default, int | str):
            assert f"Default: {field.default}." in line


def test_python_takes_each_by_its_name() -> None:
    hints = get_type_hints(JobFields)
    named = {"name", "schedule", "payload"}  # parameters of their own
    assert set(hints) == {field.name for field in FIELDS} - named
    for field in FIELDS:
        if field.name not in named:
            nullable = type(None) in getattr(hints[field.name], "__args__", ())
            assert nullable is (field.default is None), field.name


@pytest.mark.parametrize(("name", "choices"), [("kind", Kind), ("gap", Gap), ("fold", Fold)])
def test_the_choices_are_those_of_schedules(schema: dict[str, Any], name: str, choices: Any) -> None:
    assert schema["properties"][name]["anyOf"][0]["enum"] == [each.value for each in choices]
