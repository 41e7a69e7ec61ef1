"""Callers and statements fit: every statement that is called exists, gets its parameters, and is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sexton
from sexton.postgres.statement import load_all

SOURCE = Path(sexton.__file__).parent
STATEMENTS = load_all()
# Those that run a statement; private methods that hand one on are looked at too.
RUNNERS = ("fetch", "fetchrow", "fetchval", "execute", "prepared")
# Keywords that are not parameters.
OWN = {"on"}


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield str(file.relative_to(SOURCE)), ast.parse(file.read_text("utf-8"))


def called(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Calls of a method whose first argument is the name of a statement, such as `jobs/create`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]):
                if is_name(name) and (method in RUNNERS or method.startswith("_")):
                    yield node, name


def is_name(text: str) -> bool:
    return text in STATEMENTS or (text.count("/") == 1 and text.replace("/", "").isidentifier())


def misfits(file: str, tree: ast.Module) -> Iterator[str]:
    for call, name in called(tree):
        given = {keyword.arg for keyword in call.keywords}
        if name not in STATEMENTS:
            yield f"{file}:{call.lineno}: there is no statement {name}"
        elif len(call.args) == 1 and None not in given and given - OWN != {*STATEMENTS[name].parameters}:
            yield f"{file}:{call.lineno}: {name} takes {STATEMENTS[name].parameters}"


def test_every_statement_gets_its_parameters() -> None:
    assert [misfit for file, tree in trees() for misfit in misfits(file, tree)] == []


def test_a_call_that_does_not_fit_is_found() -> None:
    calls = """
database.fetchval("jobs/find", on=connection, namespace="default", name="a")
context.fetchval("jobs/find", **parameters)
connection.execute("select 1")
context.fetchval("jobs/find", name="a")
context.execute("jobs/fnid", name="a")
"""
    found = [misfit.split(": ")[0] for misfit in misfits("file", ast.parse(calls))]
    assert found == ["file:5", "file:6"]


def test_every_statement_is_used() -> None:
    texts = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert STATEMENTS.keys() - texts == set()
