"""Callers and statements fit: every statement that is called exists, gets its parameters, and is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sexton
from sexton.postgres.statement import OF_CONTEXT, load_all

SOURCE = Path(sexton.__file__).parent
STATEMENTS = load_all()
# What runs a statement. Other methods that are given the name of one hand it on.
RUNNERS = ("fetch", "fetchrow", "fetchval", "execute", "prepared", "require")
# Keywords that are not parameters.
OWN = {"on"}
NAME = re.compile(r"[a-z]+/[a-z_]+")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(SOURCE.rglob("*.py")):
        yield str(file.relative_to(SOURCE)), ast.parse(file.read_text("utf-8"))


def called(tree: ast.Module) -> Iterator[tuple[ast.Call, str, str]]:
    """Calls of a method whose first argument is the name of a statement, such as `jobs/create`; its name and
    that of the method."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="require"), args=[_, _, ast.Constant(value=str(name))]):
                yield ast.Call(node.func, node.args[2:], node.keywords, lineno=node.lineno), name, "require"
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]):
                if NAME.fullmatch(name) and (method in RUNNERS or method.startswith("_")):
                    yield node, name, method


def misfits(file: str, tree: ast.Module) -> Iterator[str]:
    for call, name, method in called(tree):
        where = f"{file}:{call.lineno}: {name}"
        given = {keyword.arg for keyword in call.keywords}
        if name not in STATEMENTS:
            yield f"{where} does not exist"
        elif len(call.args) > 1:
            if method in RUNNERS:
                yield f"{where} takes its parameters by name"
        elif None not in given and not fits(given - OWN, name, on_database(call)):
            yield f"{where} takes {STATEMENTS[name].parameters}"


def on_database(call: ast.Call) -> bool:
    """Whether a call is one of a `Database`, which fills nothing in."""
    return ast.unparse(call.func).rpartition(".")[0].endswith("database")


def fits(given: set[str | None], name: str, exactly: bool) -> bool:
    """A `Context` fills in what the caller leaves out, such as the namespace."""
    wanted = {*STATEMENTS[name].parameters}
    return given == wanted if exactly else given <= wanted <= given | {*OF_CONTEXT}


def test_every_statement_gets_its_parameters() -> None:
    assert [misfit for file, tree in trees() for misfit in misfits(file, tree)] == []


def test_a_call_that_does_not_fit_is_found() -> None:
    calls = """
database.fetchval("jobs/find", on=connection, namespace="default", name="a")
context.fetchval("jobs/find", **parameters)
connection.execute("select 1")
context.fetchval("jobs/find", name="a")
database.fetchval("jobs/find", name="a")
context.fetchval("jobs/find", nmae="a")
context.fetchval("jobs/find", name="a", actor="b")
context.execute("jobs/fnid", name="a")
context.require("job", "a", "jobs/find", name="a")
context.require("job", "a", "jobs/find", nmae="a")
context.fetchval("jobs/find", "default", "a")
"""
    found = [misfit.split(": ")[0] for misfit in misfits("file", ast.parse(calls))]
    assert found == ["file:6", "file:7", "file:8", "file:9", "file:11", "file:12"]


def test_every_statement_is_used() -> None:
    texts = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert STATEMENTS.keys() - texts == set()
