"""What holds for every kind of target: each field is described, and the documentation has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from sexton.connections.scheme import CLIENTS, SCHEMES, servers
from sexton.errors import InvalidField
from sexton.targets.base import TargetKind
from sexton.targets.celery.kind import CeleryBroker
from sexton.targets.http.kind import HttpTls
from sexton.targets.message.kind import MessageTarget
from sexton.targets.table import BUILT_IN, check_target, how_to_serve, read_target

PAGE = (Path(__file__).parents[2] / "docs" / "targets.md").read_text("utf-8")
KINDS = pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)


def described(spec: Any) -> list[bool]:
    """Of the value itself, or of each of its fields."""
    schema, components = msgspec.json.schema_components([spec])
    structs = [each.get("properties", {}) for each in components.values()]
    fields = [field for struct in structs for field in struct.values()] or schema
    return ["description" in field for field in fields]


@KINDS
def test_every_field_has_a_description_and_the_example_is_one(kind: TargetKind[Any]) -> None:
    assert all(described(kind.spec))
    target = check_target({kind.name: kind.example}, None)
    assert target.to_json() == {kind.name: kind.example}


def shown(value: Any) -> str:
    if value is msgspec.NODEFAULT:
        return "required"
    if value is None or value == "":
        return "–"
    return f"`{value}`"


def limits(field: msgspec.structs.FieldInfo) -> str:
    """The range of a number; what else the page says of sizes is prose."""
    found = msgspec.json.schema(field.type)
    least, most = (
        next((each[name] for each in (found, *found.get("anyOf", [])) if name in each), None)
        for name in ("minimum", "maximum")
    )
    return "" if least is None else f"{least:,}–{most:,}"


@pytest.mark.parametrize("kind", BUILT_IN[1:], ids=lambda kind: kind.name)
def test_every_field_is_in_the_documentation_with_its_default_and_range(kind: TargetKind[Any]) -> None:
    head = rf"^\| field of `{kind.name}` \| default \| range \| meaning \|\n\|[-|]+\|\n((?:\|.*\n)+)"
    match = re.search(head, PAGE, re.MULTILINE)
    assert match, f"there is no table of the fields of {kind.name}"
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in match[1].splitlines()]
    fields = msgspec.structs.fields(kind.spec)
    defaults = [
        shown(field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default)
        for field in fields
    ]
    assert [row[:2] for row in rows] == [
        [f"`{field.name}`", default] for field, default in zip(fields, defaults, strict=True)
    ]
    ranges = [(limits(field), row[2]) for field, row in zip(fields, rows, strict=True)]
    assert [(limit, said) for limit, said in ranges if limit and limit != said] == []


def test_the_page_names_the_files_of_tls() -> None:
    assert all(f"`{name}`" in PAGE for name in HttpTls.__struct_fields__)


def test_brokers_are_those_of_the_table_of_servers() -> None:
    broker = get_type_hints(MessageTarget)["broker"]
    assert set(get_args(broker)) == set(servers("message"))
    assert set(get_args(CeleryBroker)) <= set(servers("message"))
    assert {scheme.server for scheme in SCHEMES.values()} == set(CLIENTS)


def test_a_target_has_exactly_one_kind() -> None:
    assert read_target({"handler": None, "http": {"url": "http://x"}}).lane == "http"
    with pytest.raises(InvalidField, match="the target has none of handler, http, message, celery, shell"):
        read_target({"handler": None})
    with pytest.raises(InvalidField, match="the target has both handler and http") as refused:
        read_target({"handler": "a", "http": {"url": "http://x"}})
    assert refused.value.hint
    assert '{"handler": "name"}, {"http": {"url": "https://host/path"}}, {"message": ' in refused.value.hint
    with pytest.raises(InvalidField, match=r"there is no field target\.htpp") as unknown:
        read_target({"htpp": {"url": "http://x"}})
    assert (unknown.value.code, unknown.value.hint) == ("unknown_field", "did you mean target.http?")


def test_what_serves_a_lane_is_told_also_where_its_kind_is_not_known() -> None:
    assert how_to_serve("message", "nats") == "pip install 'sexton[nats]' where workers run"
    assert how_to_serve("shell", "backup") == "start one with --allow-shell --shell-commands backup"
    assert how_to_serve("pigeon", "loft") == "start one that knows it"
