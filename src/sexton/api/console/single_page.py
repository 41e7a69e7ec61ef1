"""The console: one page for all of its addresses. What it loads are `assets`.

Its source is in `console/` of the repository; the build puts it into `static/console`. In a checkout in which
it was never built a plain page says how to build it.

Its policy allows scripts and styles from this server only, and nothing inline. The components add style
elements of their own, for their variables and for widths that depend on the window: these carry the nonce of
the page, which is new each time. `style` attributes in the page's text would be refused; what scripts set on
an element's `style` object is not subject to the policy, so nothing needs `unsafe-inline`.

Every address is also below `/namespaces/{namespace}`: without that it is of the namespace `default`. So an
address shows the same to all who open it.
"""

from __future__ import annotations

import secrets
from functools import cache
from importlib import resources
from typing import Any

from litestar import Request, Response

from sexton.api.operation import HTML, Answer, Call, operation
from sexton.api.problems import answer_error
from sexton.api.route import PREFIX, Query, Route

# The first parts of the console's addresses; `/` and `/playground` beside them.
PAGES = ("jobs", "runs", "dead", "calendar", "content", "notifications", "queues", "cluster", "settings")
DEEPEST = 4
IN_NAMESPACE = "/namespaces/{namespace}"
NO_NONCE = '<meta name="csp-nonce" content="" />'

PAGE = Route("GET", f"/{PAGES[0]}", "pages", "A page of the console", None, query=Query, root=True)
PLAYGROUND = Route("GET", "/playground", "pages", "Try schedules", None, query=Query, root=True, open=True)


@cache
def built() -> str | None:
    """The page as the build has made it, if it was built."""
    try:
        return resources.files("sexton.api").joinpath("static", "console", "index.html").read_text("utf-8")
    except FileNotFoundError:
        return None


def shown(page: str) -> Answer:
    """The page with a nonce of its own."""
    nonce = secrets.token_urlsafe(18)
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self'; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    text = page.replace(NO_NONCE, f'<meta name="csp-nonce" content="{nonce}" />')
    headers = {"Content-Type": HTML, "Content-Security-Policy": policy}
    return Answer(text.encode(), headers=headers)


def answer_missing(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The exception handler of addresses that do not exist: the console says so to a person with a browser,
    and programs get what they get for every error."""
    page = built()
    opened = request.method in ("GET", "HEAD") and HTML in request.headers.get("accept", "")
    if page is None or not opened or request.scope["path"].startswith(f"{PREFIX}/"):
        return answer_error(request, error)
    answer = shown(page)
    headers = {**answer.headers, "Cache-Control": "no-store", "Connection": "close"}
    media_type = headers.pop("Content-Type")
    return Response(answer.body, status_code=404, media_type=media_type, headers=headers)


def addresses() -> tuple[str, ...]:
    """Every address of the console that needs a caller, as the router wants them; `/` is apart."""
    parts = [f"{{part{number}}}" for number in range(1, DEEPEST)]
    found = ["/".join([f"/{page}", *parts[:depth]]) for page in PAGES for depth in range(DEEPEST)]
    return (*found, IN_NAMESPACE, *(IN_NAMESPACE + path for path in found))


@operation(PAGE, media_type=HTML, aliases=addresses()[1:])
async def console_page(call: Call) -> Answer:
    """The console, which looks at its address itself."""
    return _page_or_home()


@operation(PLAYGROUND, media_type=HTML, aliases=(IN_NAMESPACE + PLAYGROUND.path,))
async def playground(call: Call) -> Answer:
    """The console's page for schedules; it needs no credential."""
    return _page_or_home()


def _page_or_home() -> Answer:
    page = built()
    return Answer(status=303, headers={"Location": "/"}) if page is None else shown(page)
