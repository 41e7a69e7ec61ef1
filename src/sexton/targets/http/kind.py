"""The kind of target `http`: what people write, and what is refused when a job is made."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from sexton.connections.address import http_parts
from sexton.refusal import about, check_text
from sexton.security.placeholder import secret_names
from sexton.targets.base import OpenKind, TargetKind, TargetServices, refuse

LARGEST_BODY = 64 * 1024
# What the template of a body may name. Anything else in braces is sent as it is: the receiver may use it.
BODY_PLACEHOLDER = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
BODY_NAMES = (
    "payload", "job_id", "job_name", "run_id", "attempt", "scheduled_at", "idempotency_key", "trigger",
)  # fmt: skip

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

WaitSeconds = Annotated[
    Annotated[int, Meta(ge=1, le=366 * 86_400)] | None,
    about("How long the service may take to report. Default: the job's timeout_seconds."),
]


class HttpTls(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Files on the worker's machine, in the PEM form: what is shown to the service, and what is trusted."""

    cert: Annotated[str | None, about("The file of the client certificate.")] = None
    key: Annotated[str | None, about("The file of the certificate's key, unless `cert` holds it, too.")] = (
        None
    )
    ca: Annotated[
        str | None,
        about("The file of the authorities that may sign the service's certificate. Default: the system's."),
    ] = None


class HttpTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A signed HTTP request."""

    url: Annotated[str, about("The address of the request; http or https.")]
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE"], about("GET, POST, PUT, PATCH or DELETE.")
    ] = "POST"
    headers: Annotated[
        dict[str, str], about("Further headers of the request. Headers that Sexton sets cannot be changed.")
    ] = {}
    body: Annotated[
        str | None,
        about("A template of the body. Default: the payload as JSON; nothing for a job without one."),
    ] = None
    success_codes: Annotated[list[int] | None, about("Which statuses are a success. Default: 2xx.")] = None
    capture: Annotated[bool, about("Whether the body of the answer is kept with the run.")] = True
    capture_bytes: Annotated[
        int, Meta(ge=0, le=49_152, description="How many bytes of the body are kept.")
    ] = 16_384
    capture_headers: Annotated[list[str], about("Which headers of the answer are kept.")] = []
    redirects: Annotated[int, Meta(ge=0, le=10, description="How many redirects are followed.")] = 0
    connect_timeout_seconds: Annotated[
        float, Meta(ge=0.1, le=300, description="How long the connection may take.")
    ] = 10
    read_timeout_seconds: Annotated[
        Annotated[float, Meta(ge=0.1, le=30 * 86_400)] | None,
        about("How long the service may send nothing. Default: the job's timeout_seconds."),
    ] = None
    tls: Annotated[HttpTls | None, about("Certificates of your own, for https.")] = None
    mode: Annotated[
        Literal["sync", "async"],
        about("sync, or async: the service answers 202 and reports the outcome later."),
    ] = "sync"
    wait_seconds: WaitSeconds = None
    sign_with: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        about(
            "The name of the secret (`whsec_…`) that signs the request. Default: that of the installation."
        ),
    ] = None


class HttpKind(TargetKind[HttpTarget]):
    name = "http"
    spec = HttpTarget
    example: ClassVar[Any] = {"url": "https://host/path"}
    takes_dead_letters = True
    harmless = True

    def check(self, spec: HttpTarget, payload: Any, field: str) -> None:
        _check_url(spec.url, f"{field}.url")
        _check_headers(spec.headers, f"{field}.headers")
        if spec.body is not None and (len(spec.body) > LARGEST_BODY or "\0" in spec.body):
            what = f"the body template is longer than {LARGEST_BODY} characters or contains a NUL character"
            raise refuse("bad_body", what, f"{field}.body", "use the payload instead")
        codes = spec.success_codes
        if codes is not None and (not codes or not all(100 <= code <= 599 for code in codes)):
            hint = "list HTTP statuses, for example [200, 204], or leave it out for 2xx"
            raise refuse("out_of_range", f"success_codes is {codes}", f"{field}.success_codes", hint)
        if len(spec.capture_headers) > 50 or not all(map(_HEADER.fullmatch, spec.capture_headers)):
            what = "capture_headers has more than 50 names, or one that is not the name of a header"
            hint = 'write for example ["content-type", "x-request-id"]'
            raise refuse("bad_header", what, f"{field}.capture_headers", hint)
        for name, text in (("url", spec.url), ("body", spec.body or "")):
            secret_names(text, f"{field}.{name}")
        for name, text in spec.headers.items():
            secret_names(text, f"{field}.headers.{name}")
        check_wait(spec.mode, spec.wait_seconds, field)
        if spec.tls is not None:
            _check_tls(spec, spec.tls, f"{field}.tls")

    def check_letters(self, spec: HttpTarget, field: str) -> None:
        check_answered(spec.mode, field)

    def warnings(self, spec: HttpTarget, field: str) -> list[str]:
        found = dict.fromkeys(BODY_PLACEHOLDER.findall(spec.body or ""))
        strange = [f"{{{{{name}}}}}" for name in found if name not in BODY_NAMES]
        if not strange:
            return []
        return [f"{field}.body: {', '.join(strange)} is sent unchanged; known are {', '.join(BODY_NAMES)}"]

    def open(self, services: TargetServices) -> OpenKind:
        from sexton.targets.http.step import OpenHttp

        return OpenHttp(services)


def check_wait(mode: str, wait_seconds: int | None, field: str) -> None:
    if wait_seconds is not None and mode != "async":
        what, hint = "wait_seconds is for the asynchronous mode", 'add "mode": "async", or leave it out'
        raise refuse("bad_mode", what, f"{field}.wait_seconds", hint)


def check_answered(mode: str, field: str) -> None:
    if mode == "async":
        what = "a dead letter has no run that a receiver could report to"
        raise refuse("bad_mode", what, f"{field}.mode", "leave it out")


def _check_url(url: str, field: str) -> None:
    check_text(url, field, 2048)
    if re.search(r"[\s\\]", url):
        raise refuse("bad_url", "the URL has a space, a line end or a backslash", field, "encode it as %20")
    parts = http_parts(url)
    if parts is None:
        raise refuse("bad_url", f"{url!r} is not an http or https URL", field, "write https://host/path")
    if _is_never_reached(parts.hostname or ""):
        what = f"{parts.hostname} is an address that is never reached: link-local, metadata or multicast"
        raise refuse("bad_url", what, field, "name the host of a service")


def _check_headers(headers: dict[str, str], field: str) -> None:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or re.search(r"[\r\n\0]", value):
            hint = "write a name without spaces, and a value without line ends"
            raise refuse("bad_header", f"{name!r} is not a header", field, hint)
        if name.lower() in ("content-length", "transfer-encoding", "connection", "idempotency-key"):
            raise refuse("bad_header", f"{name} is set by Sexton", field, "leave it out")


def _is_never_reached(host: str) -> bool:
    """Whether the host is such an address. A name is resolved only when a request is sent."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_link_local or address.is_multicast or address.is_unspecified


def _check_tls(http: HttpTarget, tls: HttpTls, field: str) -> None:
    if not http.url.lower().startswith("https:"):
        raise refuse("bad_tls", "tls is for https URLs", field, "write https://, or leave tls out")
    for name in tls.__struct_fields__:
        path, where = getattr(tls, name), f"{field}.{name}"
        if path is None:
            continue
        if not check_text(path, where, 1000).startswith("/") and not secret_names(path, where):
            hint = "write the whole path on the worker's machine, beginning with /, or ${secret:name}"
            raise refuse("bad_tls", f"{path!r} is not the path of a file", where, hint)
    if tls.key is not None and tls.cert is None:
        what, hint = "there is a key without a certificate", "add the certificate that the key belongs to"
        raise refuse("bad_tls", what, f"{field}.cert", hint)
