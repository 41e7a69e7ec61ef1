"""console/src/api/schema.ts, made from the OpenAPI document: `make console-types` writes it, and a test says
when it is stale."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sexton.api import openapi
from sexton.api.application import operations
from sexton.api.route import PREFIX

FILE = Path(__file__).parent.parent / "console" / "src" / "api" / "schema.ts"
HEADER = "// Written by `make console-types` from the OpenAPI document. Do not edit.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def text() -> str:
    """The whole file."""
    document = openapi.document(operations(), keys=True)
    schemas = document["components"]["schemas"]
    sent = _sent(document)
    types = "".join(_declared(name, schemas[name], name in sent) for name in sorted(schemas))
    entries = "".join(_operations(document["paths"]))
    fields = _fields(schemas["JobSpec"])
    return f"{HEADER}\n{types}\n{fields}\nexport interface Operations {{\n{entries}}}\n"


def _fields(schema: dict[str, Any]) -> str:
    """The defaults and ranges of the fields of a job, which the form of a job shows."""
    lines = []
    for name, field in schema["properties"].items():
        kinds = [field, *field.get("anyOf", [])]
        known = {
            mine: found[0]
            for mine, theirs in (("default", "default"), ("min", "minimum"), ("max", "maximum"))
            if (found := [kind[theirs] for kind in kinds if theirs in kind])
        }
        if known:
            told = ", ".join(f"{mine}: {json.dumps(value)}" for mine, value in known.items())
            lines.append(f"  {name}: {{ {told} }},\n")
    what = "/** The defaults and ranges of the fields of a job. */\n"
    return f"{what}export const JOB_FIELDS = {{\n{''.join(lines)}}} as const\n"


def _sent(document: dict[str, Any]) -> set[str]:
    """The types that callers send, and what these consist of. Of all others the server writes every field."""
    schemas, found = document["components"]["schemas"], set[str]()
    paths = document["paths"].values()
    bodies = [one.get("requestBody") for methods in paths for one in methods.values()]
    wanted = {name for body in bodies for name in _named(body)}
    while wanted:
        found |= wanted
        wanted = {name for each in wanted for name in _named(schemas[each])} - found
    return found


def _named(part: Any) -> Iterator[str]:
    """The types that a part of the document names."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield str(value).rpartition("/")[2]
            elif key not in ("example", "examples", "default"):
                yield from _named(value)
    elif isinstance(part, list):
        for each in part:
            yield from _named(each)


def _declared(name: str, schema: dict[str, Any], sent: bool) -> str:
    if "properties" in schema:
        schema = schema if sent else {**schema, "required": list(schema["properties"])}
        return f"export interface {name} {_object(schema, '')}\n"
    return f"export type {name} = {_type(schema)}\n"


def _operations(paths: dict[str, Any]) -> Iterator[str]:
    for path, methods in paths.items():
        if not path.startswith(PREFIX):
            continue
        for method, one in methods.items():
            parts = {"path": "", "query": "", "header": ""}
            for each in one["parameters"]:
                mark = "" if each["required"] else "?"
                parts[each["in"]] += f" {_key(each['name'])}{mark}: {_type(each['schema'])};"
            body = _content(one.get("requestBody", {}))
            answers = [_content(one["responses"][each]) for each in one["responses"] if int(each) < 400]
            yield (
                f"  '{method.upper()} {path.removeprefix(PREFIX)}': {{\n"
                f"    path: {_inline(parts['path'])}\n    query: {_inline(parts['query'])}\n"
                f"    body: {body}\n    answer: {answers[0]}\n  }}\n"
            )


def _inline(fields: str) -> str:
    return f"{{{fields.removesuffix(';')} }}" if fields else "null"


def _content(holder: dict[str, Any]) -> str:
    """The type of a body; other media types than JSON are text."""
    content = holder.get("content", {})
    if not content:
        return "null"
    media_type, first = next(iter(content.items()))
    return _type(first["schema"]) if "json" in media_type and "nd" not in media_type else "string"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(_type(each) for each in schema[union]))
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    match schema.get("type"):
        case "array":
            item = _type(schema.get("items", {}))
            return f"({item})[]" if " | " in item else f"{item}[]"
        case "object" if "properties" in schema:
            return _object(schema, "  ")
        case "object":
            values = schema.get("additionalProperties")
            return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
        case str() as plain:
            return PLAIN[plain]
        case _:
            return "unknown"


def _object(schema: dict[str, Any], indent: str) -> str:
    required = schema.get("required", [])
    lines = [
        f"{indent}  {_key(name)}{'' if name in required else '?'}: {_type(each)}"
        for name, each in schema["properties"].items()
    ]
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
    print(f"wrote {FILE.name}")
