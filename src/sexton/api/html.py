"""The two pages for people: the state of things, and the API. Nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from html import escape
from typing import Any

from sexton import __version__
from sexton.engine.cluster.view import Cluster

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #2a7d46; --bad: #c0392b; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0 }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
h3 { margin-bottom: .3rem }
code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { background: var(--soft); padding: .8rem; overflow: auto }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .8rem .25rem 0;
vertical-align: top; border-bottom: 1px solid var(--line) }
.good { color: var(--good) } .bad { color: var(--bad) }
.method { display: inline-block; min-width: 4.2em; font-weight: 600 } details { margin: .4rem 0 }
summary { cursor: pointer } a { color: inherit }
"""


def page(title: str, body: str) -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>{body}</body></html>"
    ).encode()


def home(base: str, cluster: Cluster | None, database: str, *, program: str = "sexton") -> bytes:
    """What runs, and what to do next; `program` is what to type for the command."""
    state, steps = _state(cluster, database), _steps(base, program)
    return page("Sexton", f"<h1>Sexton</h1><p>version {__version__}</p>{state}{steps}")


def _state(cluster: Cluster | None, database: str) -> str:
    if cluster is None:
        return f'<p class="bad">The database: {escape(database)}.</p>'
    live = [node for node in cluster.nodes if node.state == "live"]
    workers = sum("worker" in node.roles for node in live)
    led = cluster.shards_led == cluster.shards
    rows = [
        ("database", "reachable", True),
        ("schedulers", f"{cluster.shards_led} of {cluster.shards} shards are led", led),
        ("workers", f"{workers} running", workers > 0),
        ("jobs", _counted(cluster.counts.jobs), True),
        ("live runs", _counted(cluster.counts.runs), True),
        ("dead letters", f"{cluster.counts.dead:,}", cluster.counts.dead == 0),
    ]  # fmt: skip
    cells = "".join(
        f'<tr><th>{name}</th><td class="{"good" if good else "bad"}">{escape(text)}</td></tr>'
        for name, text, good in rows
    )
    return f"<table>{cells}</table>"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.items()) or "none"


def _steps(base: str, program: str) -> str:
    job = {"name": "hello", "schedule": "every 10s", "target": {"handler": "sexton.log"}, "payload": {"n": 1}}
    curl = f"curl {base}/api/v1/jobs -H 'Content-Type: application/json' \\\n  -d '{json.dumps(job)}'"
    program = escape(shlex.quote(program))
    return f"""<h2>Next steps</h2>
<p>Make a job that fires within ten seconds:</p>
<pre>{program} jobs add hello --schedule 'every 10s' --handler sexton.log --payload '{{"n":1}}' --follow</pre>
<p>The same over HTTP:</p><pre>{escape(curl)}</pre>
<p>See what became of it:</p><pre>{program} why hello</pre>
<p><a href="/docs">The API</a> · <a href="/openapi.json">as OpenAPI</a> · <a href="/metrics">metrics</a> ·
<a href="/readyz">readiness</a> · <a href="/api/v1/cluster">the cluster</a></p>"""


def documentation(document: dict[str, Any]) -> bytes:
    """The OpenAPI document as a page."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            groups.setdefault(one["tags"][0], []).append(_operation(path, method.upper(), one))
    contents = " · ".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in [*groups, "types"])
    operations = "".join(
        f'<h2 id="{_anchor(tag)}">{escape(tag.capitalize())}</h2>{"".join(each)}'
        for tag, each in groups.items()
    )
    types = "".join(_type(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    intro = "".join(f"<p>{_text(part)}</p>" for part in document["info"]["description"].split("\n\n"))
    body = f"""<h1>Sexton API</h1><p>version {__version__} · <a href="/openapi.json">openapi.json</a> ·
<a href="/">status</a></p>{intro}<p>{contents}</p>{operations}<h2 id="types">Types</h2>{types}"""
    return page("Sexton API", body)


def _operation(path: str, method: str, one: dict[str, Any]) -> str:
    parts = [f"<p>{_text(one['description'])}</p>"] if one["description"] else []
    if one["parameters"]:
        rows = "".join(
            f"<tr><td><code>{escape(each['name'])}</code></td><td>{each['in']}</td>"
            f"<td>{_text(each['description'])}{_default(each['schema'])}</td></tr>"
            for each in one["parameters"]
        )
        parts.append(f"<table>{rows}</table>")
    request = one.get("requestBody", {"content": {}})["content"]
    parts += [_body("Request", *content) for content in request.items()]
    for status, answer in one["responses"].items():
        if int(status) < 400:
            parts += [_body(f"Answer {status}", *content) for content in answer.get("content", {}).items()]
            if not answer.get("content"):
                parts.append(f"<p>Answer {status}, without a body.</p>")
    errors = [status for status in one["responses"] if int(status) >= 400]
    if errors:
        parts.append(f"<p>Errors: {', '.join(errors)}.</p>")
    return (
        f'<h3 id="{one["operationId"]}"><span class="method">{method}</span> <code>{escape(path)}</code></h3>'
        f"<details><summary>{escape(one['summary'])}</summary>{''.join(parts)}</details>"
    )


def _body(title: str, media_type: str, content: dict[str, Any]) -> str:
    example = content.get("example")
    text = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
    shown = "" if example is None else f"<pre>{escape(text)}</pre>"
    return f"<p>{title}: {_shape(content['schema'])} <code>{escape(media_type)}</code></p>{shown}"


def _type(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' <small>optional</small>'}</td>"
        f"<td>{_shape(each)}</td><td>{_text(each.get('description', ''))}{_default(each)}</td></tr>"
        for field, each in schema.get("properties", {}).items()
    )
    values = ", ".join(map(str, schema.get("enum", [])))
    shown = f"<table>{rows}</table>" if rows else f"<p>{escape(values)}</p>"
    title = f'<h3 id="type-{escape(name)}">{escape(name)}</h3>'
    return f"{title}<p>{_text(schema.get('description', ''))}</p>{shown}"


def _shape(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_shape(schema.get('items', {}))}"
    if "enum" in schema:
        return escape(" | ".join(map(str, schema["enum"])))
    return escape(schema.get("format") or schema.get("type") or "any JSON")


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, [], {}) else f" Default: <code>{escape(json.dumps(default))}</code>."


def _text(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _anchor(tag: str) -> str:
    return tag.replace(" ", "-")
