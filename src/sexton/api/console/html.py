"""The pages for people. Nothing is loaded from elsewhere, and nothing stands inline: see `POLICY`."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from html import escape
from typing import Any

from sexton import __version__
from sexton.api.console.assets import address_of
from sexton.engine.cluster.view import Cluster
from sexton.printable import all_counted
from sexton.security.role import EVERY_NAMESPACE, Role

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Type": "text/html", "Content-Security-Policy": POLICY}


@dataclass(frozen=True, slots=True)
class PageUser:
    """Who looks at a page; `csrf_token` if they have signed in, so that they can sign out."""

    name: str
    csrf_token: str | None = None


def page(title: str, body: str, account: PageUser | None = None) -> bytes:
    """A page with its bar on top."""
    bar = (
        f'<header class="bar">{BRAND}<nav><a href="/">Console</a><a href="/docs">API</a></nav>'
        f"{_account(account)}</header>"
    )
    return _document(title, f"{bar}<main>{body}</main>")


def card(title: str, body: str, *, script: bool = False) -> bytes:
    """A small page with one thing to do."""
    more = f'<script src="{address_of("sign-in.js")}" defer></script>' if script else ""
    return _document(title, f'<main class="narrow">{BRAND}<div class="card">{body}</div>{UNDER}</main>', more)


def _document(title: str, body: str, head: str = "") -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{address_of("icon.svg")}">'
        f'<link rel="stylesheet" href="{address_of("pages.css")}">{head}</head><body>{body}</body></html>'
    ).encode()


UNDER = '<p class="under"><a href="/playground">Playground</a><a href="/docs">API documentation</a></p>'
BRAND = f'<a class="brand" href="/"><img src="{address_of("icon.svg")}" alt="">Sexton</a>'


def _account(account: PageUser | None) -> str:
    if account is None:
        return ""
    way_out = "" if account.csrf_token is None else sign_out_form(account.csrf_token, "Sign out", "link")
    name = escape(account.name)
    shown = f"<span>{name}</span>" if account.csrf_token is None else f'<a href="/sign-in">{name}</a>'
    return f'<div class="account">{shown}{way_out}</div>'


def sign_out_form(csrf_token: str, label: str, look: str, *, everywhere: bool = False) -> str:
    more = '<input type="hidden" name="everywhere" value="true">' if everywhere else ""
    return (
        '<form method="post" action="/sign-out">'
        f'<input type="hidden" name="csrf_token" value="{escape(csrf_token)}">{more}'
        f'<button class="{look}">{escape(label)}</button></form>'
    )


def refusal(heading: str, detail: str, hint: str | None) -> bytes:
    """Why a page cannot be shown, or a person not be signed in."""
    more = f'<p class="quiet">{_text(_sentence(hint))}</p>' if hint else ""
    return card(
        heading,
        f'<h1>{escape(heading)}</h1><p class="notice">{_text(_sentence(detail))}</p>{more}'
        '<a class="button plain" href="/sign-in">Sign in</a>',
        script=True,
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


# Shown instead of the console.
NOT_BUILT = "<p>The console was not built here. Build it, and start Sexton again:</p><pre>make console</pre>"


def home(
    base: str,
    cluster: Cluster | None,
    database: str,
    *,
    program: str = "sexton",
    account: PageUser | None = None,
    roles: dict[str, Role] | None = None,
) -> bytes:
    """What runs, and what to do next; `program` is what to type for the command. `roles`: what the caller may
    do, if that is not to see the cluster."""
    state = _state(cluster, database) if roles is None else _roles(roles)
    links = LINKS if roles is None else FEWER_LINKS
    head = f'<h1>Status</h1><p class="quiet">Sexton {__version__}</p>{NOT_BUILT}'
    body = f"{head}{state}{_steps(base, program)}{links}"
    return page("Sexton", body, account)


def _roles(roles: dict[str, Role]) -> str:
    rows = "".join(
        f"<tr><th>{escape('all namespaces' if name == EVERY_NAMESPACE else name)}</th><td>{role}</td></tr>"
        for name, role in sorted(roles.items())
    )
    return f"<p>What you may do:</p><table>{rows}</table>"


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
        ("jobs", all_counted(cluster.counts.jobs), None),
        ("live runs", all_counted(cluster.counts.runs), None),
        ("dead letters", f"{cluster.counts.dead:,}", None if cluster.counts.dead == 0 else False),
    ]  # fmt: skip
    looks = {True: "good", False: "bad", None: ""}
    cells = "".join(
        f'<tr><th>{name}</th><td class="{looks[good]}">{escape(text)}</td></tr>' for name, text, good in rows
    )
    return f"<table>{cells}</table>"


def _steps(base: str, program: str) -> str:
    job = {"name": "hello", "schedule": "every 10s", "target": {"handler": "sexton.log"}, "payload": {"n": 1}}
    curl = f"curl {base}/api/v1/jobs -H 'Content-Type: application/json' \\\n  -d '{json.dumps(job)}'"
    program = escape(shlex.quote(program))
    return f"""<h2>Next steps</h2>
<p>Make a job that fires within ten seconds:</p>
<pre>{program} jobs add hello --schedule 'every 10s' --handler sexton.log --payload '{{"n":1}}' --follow</pre>
<p>The same over HTTP:</p><pre>{escape(curl)}</pre>
<p>See what became of it:</p><pre>{program} why hello</pre>"""


FEWER_LINKS = '<p><a href="/docs">The API</a> · <a href="/openapi.json">as OpenAPI</a></p>'
LINKS = FEWER_LINKS.removesuffix("</p>") + (
    ' · <a href="/metrics">metrics</a> · <a href="/readyz">readiness</a> · '
    '<a href="/api/v1/cluster">the cluster</a></p>'
)


def documentation(document: dict[str, Any], account: PageUser | None = None) -> bytes:
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
    body = f"""<h1>Sexton API</h1><p class="quiet">version {__version__} ·
<a href="/openapi.json">openapi.json</a></p>{intro}<p>{contents}</p>{operations}
<h2 id="types">Types</h2>{types}"""
    return page("Sexton API", body, account)


def _operation(path: str, method: str, one: dict[str, Any]) -> str:
    parts = [f"<p>{_text(one['description'])}</p>"] if one["description"] else []
    if one["parameters"]:
        rows = "".join(
            f"<tr><td><code>{escape(each['name'])}</code></td><td>{each['in']}</td>"
            f"<td>{_text(each['description'])}{_default(each['schema'])}</td></tr>"
            for each in one["parameters"]
        )
        parts.append(f'<div class="table"><table>{rows}</table></div>')
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
    table = f'<div class="table"><table>{rows}</table></div>'
    shown = table if rows else f"<p>{escape(values)}</p>"
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
