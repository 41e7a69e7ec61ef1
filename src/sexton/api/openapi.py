"""The OpenAPI document, made from the table of operations and their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from sexton import __version__
from sexton.api import examples
from sexton.api.operation import HTML, Operation
from sexton.api.problems import MEDIA_TYPE, Problem
from sexton.api.route import PATH_PARAMETERS, REASON_HEADER
from sexton.targets.run import TOKEN_HEADER
from sexton.targets.table import kinds

REFERENCE = "#/components/schemas/{name}"
# Of an export as one JSON array.
ROWS = {"type": "array", "items": {"type": "object"}}

DESCRIPTION = """\
Sexton fires every job on time in its own time zone and accounts for every occurrence.

Times are ISO-8601 in UTC, with Z. A job is named by its id (`j_…`) or by its name. Lists are arrays; a
further page is in the `Link` header with rel="next". POST takes an `Idempotency-Key`: the same key with the
same body gets the same answer for 24 hours and has no second effect. Unknown fields and parameters are
refused. Errors are `application/problem+json` with a stable `code`.
"""


def document(operations: Sequence[Operation], *, keys: bool) -> dict[str, Any]:
    """The whole document; `keys` says whether requests need an API key."""
    types = [each for one in operations for each in (one.body, one.answer) if each is not None]
    targets = [kind.spec for kind in kinds().values()]
    schemas, components = msgspec.json.schema_components([*types, Problem, *targets], ref_template=REFERENCE)
    components["Target"] = _target(schemas[len(types) + 1 :], components)
    known = dict(zip(map(_key, [*types, Problem]), schemas, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.template, {})[one.method.lower()] = _operation(one, known)
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Sexton", "version": __version__, "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": components},
    }
    if keys:
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"key": []}]
    return found


def _target(schemas: Sequence[dict[str, Any]], components: dict[str, Any]) -> dict[str, Any]:
    """An object with one key, the name of a kind."""
    properties = {}
    for (name, kind), schema in zip(kinds().items(), schemas, strict=True):
        described = components.get(schema.get("$ref", "").rpartition("/")[2], schema)
        properties[name] = {**schema, "description": described["description"], "examples": [kind.example]}
    return {
        "title": "Target",
        "description": "Who carries a run out: exactly one of these.",
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _operation(one: Operation, known: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if one.answer is not None:
        schema = known[_key(one.answer)]
        answer["content"] = {
            one.media_type.partition(";")[0]: _content(schema, one.answer_example),
            **{
                other: _content(ROWS if isinstance(example, list) else schema, example)
                for other, example in one.other_answers.items()
            },
        }
    described: dict[str, Any] = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": one.summary,
        "description": one.description,
        "parameters": [*_path_parameters(one), *_query_parameters(one), *_header_parameters(one)],
        "responses": {**_answers(one, answer), **_errors(one)},
    }
    if one.tokened:
        described["security"] = []
    if one.body is not None:
        described["requestBody"] = {
            "required": not one.body_optional,
            "content": {one.body_types[0]: _content(known[_key(one.body)], one.example)},
        }
    return described


def _answers(one: Operation, answer: dict[str, Any]) -> dict[str, Any]:
    return {
        str(status): {"description": HTTPStatus(status).phrase, **answer}
        for status in sorted((one.status, *one.also))
    }


def _content(schema: Any, example: Any) -> dict[str, Any]:
    return {"schema": schema} if example is None else {"schema": schema, "example": example}


def _errors(one: Operation) -> dict[str, Any]:
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": REFERENCE.format(name="Problem")},
                    "example": examples.PROBLEM
                    if status == 422
                    else {
                        "type": "urn:sexton:error:…",
                        "title": HTTPStatus(status).phrase,
                        "status": status,
                        "detail": "what happened and why",
                        "code": "…",
                        "hint": "what to do about it",
                    },
                },
                # A browser that opens the page gets an HTML page.
                **({HTML: _content({"type": "string"}, "<!doctype html>…")} if one.page else {}),
            },
        }
        for status in sorted(refusals(one))
    }


def refusals(one: Operation) -> set[int]:
    """The statuses of all refusals: by the operation, and by what is checked before it (credentials, headers,
    rates, the body)."""
    found = {429, *one.errors}
    if not one.open:
        found |= {401, 403, 404, 422, 503}
    if one.method == "POST":
        found.add(409)  # an Idempotency-Key that was used for another request
    if one.body is not None:
        found |= {400, 413, 415, 422}
    return found


def _path_parameters(one: Operation) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"\{(\w+)\}", one.template):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH_PARAMETERS[name],
            "schema": {"type": "string"},
        }


def _query_parameters(one: Operation) -> Iterable[dict[str, Any]]:
    if one.query is None:
        return
    _, components = msgspec.json.schema_components([one.query], ref_template=REFERENCE)
    for name, schema in components[one.query.__name__].get("properties", {}).items():
        description = schema.pop("description", None) or next(
            (each["description"] for each in schema.get("anyOf", []) if "description" in each), ""
        )
        yield {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def _header_parameters(one: Operation) -> Iterable[dict[str, Any]]:
    def header(name: str, description: str, *, required: bool = False) -> dict[str, Any]:
        return {
            "name": name,
            "in": "header",
            "required": required,
            "description": description,
            "schema": {"type": "string"},
        }

    if one.tokened and "{run}" in one.path:
        yield header(TOKEN_HEADER, "The token that came with the run. No API key is needed.", required=True)
    if one.method != "GET":
        yield header(REASON_HEADER, "Why, for the audit; percent-encoded where it is not ASCII.")
    if one.method == "POST":
        yield header("Idempotency-Key", "The same key and body get the same answer for 24 hours.")
    if one.method in ("PATCH", "PUT"):
        yield header("If-Match", "The job's ETag: refuse with 412 if it has been edited since.")


def _key(type_: Any) -> str:
    return repr(type_)
