"""From what people write to a `JobSpec`: everything that can be refused without looking at the database.

Reading is one call of msgspec; only input that it refuses, or that is out of range, is looked at again to say
which field is wrong and what to write instead.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec

from sexton.concurrency import check_concurrency_key
from sexton.errors import InvalidField, ScheduleError
from sexton.idempotency import check_template
from sexton.model import HttpTarget, HttpTls, JobSpec, Target, decode_id
from sexton.schedules import Schedule, parse
from sexton.schedules.zone import EPOCH
from sexton.target_rules import HINT, check_target, secret_names, struct_of
from sexton.text import check_text

LARGEST_PAYLOAD = 256 * 1024
LARGEST_BODY = 64 * 1024
TEN_YEARS = 10 * 366 * 86_400

# The smallest and the largest value of every number.
RANGES = {
    "priority": (0, 3),
    "max_retries": (0, 100),
    "retry_base_seconds": (0, 30 * 86_400),
    "retry_max_seconds": (0, 30 * 86_400),
    "timeout_seconds": (1, 30 * 86_400),
    "max_missed": (0, 10_000),
    "catch_up_seconds": (0, TEN_YEARS),
    "grace_seconds": (0, 86_400),
    "jitter_seconds": (0, 86_400),
    "expires_seconds": (1, TEN_YEARS),
    "max_runs": (1, 2**31 - 1),
    "keep_completed_seconds": (0, TEN_YEARS),
}

# The longest text of every field that has one.
LENGTHS = {
    "name": 200,
    "queue": 100,
    "timezone": 100,
    "description": 10_000,
    "owner": 200,
}

# What other schedulers call it.
OTHER_NAMES = {
    **dict.fromkeys(
        ("cron", "cron_expr", "cron_expression", "crontab", "rrule", "recurrence_rule", "recurrence",
         "interval", "trigger", "run_at", "run_date", "at"),
        "schedule",
    ),
    **dict.fromkeys(("user_timezone", "tz", "time_zone", "zone", "tzid"), "timezone"),
    **dict.fromkeys(("max_delay_minutes", "max_delay_seconds", "catchup_window"), "catch_up_seconds"),
    **dict.fromkeys(("misfire_grace_time", "starting_deadline_seconds"), "grace_seconds"),
    **dict.fromkeys(("misfire_policy", "misfire_instruction", "coalesce", "backfill"), "missed_window"),
    **dict.fromkeys(("no_overlap", "concurrency_policy", "max_instances", "overlap_policy"), "overlap"),
    **dict.fromkeys(("staleness_threshold", "ttl", "expires", "expires_in"), "expires_seconds"),
    **dict.fromkeys(("handler", "handler_type", "function", "func", "task", "worker"), "target.handler"),
    **dict.fromkeys(("url", "webhook", "webhook_url", "http", "endpoint", "uri"), "target.http.url"),
    **dict.fromkeys(("args", "kwargs", "data", "body", "params", "input", "job_data"), "payload"),
    **dict.fromkeys(("retries", "max_attempts", "attempts", "retry_limit", "retry_count"), "max_retries"),
    **dict.fromkeys(("backoff", "retry_policy", "retry_strategy"), "retry_backoff"),
    **dict.fromkeys(("retry_delay", "retry_interval", "retry_delay_seconds"), "retry_base_seconds"),
    **dict.fromkeys(("timeout", "max_runtime", "time_limit", "execution_timeout"), "timeout_seconds"),
    **dict.fromkeys(("jitter",), "jitter_seconds"),
    **dict.fromkeys(("start_date", "start_time", "start_at", "not_before"), "starts_at"),
    **dict.fromkeys(("end_date", "end_time", "end_at", "not_after"), "ends_at"),
    **dict.fromkeys(("tags", "metadata", "annotations"), "labels"),
    **dict.fromkeys(("idempotency_key", "dedup_key", "unique_key"), "idempotency_key_template"),
    **dict.fromkeys(("limit_key", "concurrency_group", "group_key", "partition_key"), "concurrency_key"),
    **dict.fromkeys(("job_name", "title", "id", "job_id"), "name"),
    **dict.fromkeys(("calendar", "calendars", "holidays", "excluded_dates"), "exclude"),
}  # fmt: skip

EXAMPLES = {
    "retry_backoff": "fixed, linear or exponential",
    "retry_jitter": "none or full",
    "missed_window": "SKIP, RUN_ONCE or RUN_ALL",
    "overlap": "ALLOW, SKIP, QUEUE_ONE or CANCEL_RUNNING",
    "target": HINT,
    "target.http.method": "GET, POST, PUT, PATCH or DELETE",
    "starts_at": "write for example 2026-12-24T18:00:00Z",
    "ends_at": "write for example 2026-12-24T18:00:00Z",
    "anchor": "write for example 2026-12-24T18:00:00Z",
    "labels": 'write {"team": "billing"}: names and values are text',
    "exclude": 'write ["2026-12-25", "2026-12-24/2027-01-02"]',
}

# Those of the numbers of an http target.
HTTP_RANGES = {
    "capture_bytes": (0, 49_152),
    "redirects": (0, 10),
    "connect_timeout_seconds": (0.1, 300),
    "read_timeout_seconds": (0.1, 30 * 86_400),
    "wait_seconds": (1, 366 * 86_400),
}

# What the templates of a dead_letter_target find as their payload.
LETTER = dict.fromkeys(
    ("run_id", "job_id", "job_name", "died_at", "reason", "error", "error_group", "scheduled_at", "trigger",
     "missed", "attempt", "idempotency_key", "parent_run", "payload"),
    "",
)  # fmt: skip

_DECODER = msgspec.json.Decoder(JobSpec)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NUMBERS = operator.attrgetter(*RANGES)
_DEFAULT_NUMBERS = _NUMBERS(JobSpec(name="", schedule=""))


def read_spec(data: Mapping[str, Any] | bytes | str | JobSpec) -> JobSpec:
    """A job as JSON or as a mapping; refused input raises `InvalidField` with the field and what to do."""
    if isinstance(data, JobSpec):
        return check_spec(data)
    if isinstance(data, bytes | str):
        try:
            return check_spec(_DECODER.decode(data))
        except msgspec.ValidationError as error:
            raise _explain(_decode(data), error) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _bad_json(error) from None
    return _convert(_plain(data))


def read_changes(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """A job with some fields changed. null puts a field back to its default."""
    plain = _plain(changes)
    known = {field: getattr(spec, field) for field in spec.__struct_fields__ if field not in plain}
    _check_names(plain)
    given = {name: value for name, value in plain.items() if value is not None}
    missing = [name for name in ("name", "schedule") if name in plain and plain[name] is None]
    if missing:
        raise InvalidField(
            "missing_field", f"a job needs a {missing[0]}", field=missing[0], hint="leave it out to keep it"
        )
    return _convert({**msgspec.to_builtins(_only(spec, known)), **given})


def check_spec(spec: JobSpec) -> JobSpec:
    """Ranges, lengths, names, target, payload."""
    _check_name(spec.name)
    if _NUMBERS(spec) != _DEFAULT_NUMBERS:
        _check_numbers(spec)
    for field, longest in LENGTHS.items():
        text = getattr(spec, field)
        if text is not None:
            check_text(text, field, longest)
    if spec.target is not None:
        check_target(spec.target, spec.payload)
        if spec.target.http is not None:
            _check_http(spec.target.http)
    if spec.dead_letter_target is not None:
        check_dead_letter_target(spec.dead_letter_target)
    if spec.labels:
        _check_labels(spec.labels)
    if len(spec.exclude) > 1000:
        raise InvalidField(
            "too_many", "more than 1000 exclusions", field="exclude", hint="merge days into ranges"
        )
    if spec.payload is not None:
        encode_payload(spec.payload)
    if spec.idempotency_key_template is not None:
        check_template(spec.idempotency_key_template, spec.payload)
    if spec.concurrency_key is not None:
        check_concurrency_key(spec.concurrency_key, spec.payload)
    return spec


def read_target(data: Any, payload: Any) -> Target:
    """A target alone, checked as that of a job is."""
    target = read_spec({"name": "target", "schedule": "@daily", "target": data, "payload": payload}).target
    assert target is not None
    return target


def read_dead_letter_target(data: Any) -> Target:
    """One alone, checked as that of a job is."""
    spec = read_spec({"name": "target", "schedule": "@daily", "dead_letter_target": data})
    assert spec.dead_letter_target is not None
    return spec.dead_letter_target


def check_dead_letter_target(target: Target) -> Target:
    """An http or message target that says at once whether it has the letter."""
    field = "dead_letter_target"
    if target.kind not in ("http", "message"):
        raise InvalidField(
            "bad_target",
            f"dead letters are not taken to a {target.kind}",
            field=field,
            hint='write {"http": {"url": "https://…"}} or {"message": {…}}',
        )
    check_target(target, LETTER, field)
    if target.http is not None:
        try:
            _check_http(target.http)
        except InvalidField as error:
            error.field = error.field.replace("target", field, 1)
            raise
    if "async" in (target.http and target.http.mode, target.message and target.message.mode):
        raise InvalidField(
            "bad_mode",
            "nobody reports later of a dead letter",
            field=f"{field}.{target.kind}.mode",
            hint="leave it out",
        )
    return target


def encode_payload(payload: Any, field: str = "payload") -> str:
    """A payload as the JSON that is stored."""
    try:
        encoded = msgspec.json.encode(payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(
            "bad_payload",
            f"the {field} is not JSON: {error}",
            field=field,
            hint="use objects, lists, text, numbers",
        ) from None
    if len(encoded) > LARGEST_PAYLOAD:
        raise InvalidField(
            "payload_too_large",
            f"the {field} has {len(encoded):,} bytes as JSON",
            field=field,
            hint=f"at most {LARGEST_PAYLOAD:,} are kept: store the data elsewhere and pass a reference",
        )
    if b"u0000" in encoded and re.search(rb"(?<!\\)(?:\\\\)*\\u0000", encoded):
        raise InvalidField(
            "nul_character", f"the {field} contains a NUL character", field=field, hint="remove it"
        )
    return encoded.decode()


def read_schedule(spec: JobSpec, now: datetime) -> tuple[Schedule, datetime]:
    """The schedule of a new job, and the anchor from which it counts."""
    for field in ("starts_at", "ends_at", "anchor"):
        moment = getattr(spec, field)
        if moment is not None and not 1970 <= moment.year <= 9000:
            raise ScheduleError(
                "bad_time", f"{field} is in the year {moment.year}", field=field, hint="check the year"
            )
    schedule = make_schedule(spec, spec.anchor)
    if spec.anchor is None and schedule.needs_anchor:
        schedule = make_schedule(spec, _cut(now, schedule.kind))
    return schedule, _anchor_of(schedule, spec) or _cut(now, schedule.kind)


def make_schedule(spec: JobSpec, anchor: datetime | None) -> Schedule:
    """A job's schedule from its fields. Cached: jobs alike share one."""
    return parse(
        spec.schedule,
        timezone=spec.timezone,
        kind=spec.kind,
        anchor=anchor,
        gap=spec.gap,
        fold=spec.fold,
        starts_at=spec.starts_at,
        ends_at=spec.ends_at,
        exclude=tuple(spec.exclude),
        key=spec.name if "H" in spec.schedule else None,
    )


def first_occurrence(spec: JobSpec, schedule: Schedule, now: datetime) -> datetime:
    """Where a new job begins. A single time in the past needs a word about what is to become of it."""
    first = schedule.next_after(now)
    if first is not None:
        return first
    past = schedule.previous_before(now + timedelta(microseconds=1))
    if past is None:
        raise ScheduleError(
            "never_fires", "no time is left between the bounds and exclusions of this schedule",
            hint="check starts_at, ends_at and exclude",
        )  # fmt: skip
    if schedule.kind != "once":
        raise ScheduleError(
            "never_fires",
            f"the last time of this schedule was {_iso(past)}",
            hint="check UNTIL, COUNT and ends_at",
        )
    if spec.missed_window is None:
        raise ScheduleError(
            "in_the_past",
            f"{_iso(past)} is over: it is {_iso(now)} now",
            hint="give a later time, or missed_window: RUN_ONCE runs it at once, SKIP records it as missed",
        )
    return past


def _check_numbers(spec: JobSpec) -> None:
    for field, (least, most) in RANGES.items():
        value = getattr(spec, field)
        if value is not None and not least <= value <= most:
            hint = f"give a number from {least} to {most}"
            raise InvalidField("out_of_range", f"{field} is {value}", field=field, hint=hint)


def _check_name(name: str) -> None:
    if not name.strip():
        raise InvalidField("empty", "the name is empty", field="name", hint="give the job a name")
    if name != name.strip() or "\n" in name or "\t" in name:
        raise InvalidField(
            "bad_name",
            "the name begins or ends with a space, or has a line end",
            field="name",
            hint="remove it",
        )
    if name.startswith("j_") and decode_id("j", name) is not None:
        raise InvalidField(
            "bad_name", f"{name} looks like the id of a job", field="name", hint="do not begin it with j_"
        )


def _check_http(http: HttpTarget) -> None:
    field = "target.http.url"
    check_text(http.url, field, 2048)
    if re.search(r"[\s\\]", http.url):
        raise InvalidField(
            "bad_url", "the URL has a space, a line end or a backslash", field=field, hint="encode it as %20"
        )
    try:
        parts = urlsplit(http.url)
        valid = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidField(
            "bad_url",
            f"{http.url!r} is not an http or https URL",
            field=field,
            hint="write https://host/path",
        )
    for name, value in http.headers.items():
        if not _HEADER.fullmatch(name) or re.search(r"[\r\n\0]", value):
            raise InvalidField(
                "bad_header",
                f"{name!r} is not a header",
                field="target.http.headers",
                hint="no line ends, no spaces",
            )
        if name.lower() in ("content-length", "transfer-encoding", "connection", "idempotency-key"):
            raise InvalidField(
                "bad_header", f"{name} is set by Sexton", field="target.http.headers", hint="leave it out"
            )
    if http.body is not None and (len(http.body) > LARGEST_BODY or "\0" in http.body):
        raise InvalidField(
            "bad_body",
            f"the body template is longer than {LARGEST_BODY} characters or contains a NUL character",
            field="target.http.body",
            hint="use the payload instead",
        )
    codes = http.success_codes
    if codes is not None and (not codes or not all(100 <= code <= 599 for code in codes)):
        raise InvalidField(
            "out_of_range",
            f"success_codes is {codes}",
            field="target.http.success_codes",
            hint="list HTTP statuses, for example [200, 204], or leave it out for 2xx",
        )
    for name, (least, most) in HTTP_RANGES.items():
        number = getattr(http, name)
        if number is not None and not least <= number <= most:
            raise InvalidField(
                "out_of_range",
                f"{name} is {number:g}",
                field=f"target.http.{name}",
                hint=f"give a number from {least:g} to {most:g}",
            )
    if len(http.capture_headers) > 50 or not all(map(_HEADER.fullmatch, http.capture_headers)):
        raise InvalidField(
            "bad_header",
            "capture_headers has more than 50 names, or one that is not the name of a header",
            field="target.http.capture_headers",
            hint='write for example ["content-type", "x-request-id"]',
        )
    for name, text in (("url", http.url), ("body", http.body or "")):
        secret_names(text, f"target.http.{name}")
    for name, text in http.headers.items():
        secret_names(text, f"target.http.headers.{name}")
    if http.wait_seconds is not None and http.mode != "async":
        raise InvalidField(
            "bad_mode",
            "wait_seconds is for the asynchronous mode",
            field="target.http.wait_seconds",
            hint='add "mode": "async", or leave it out',
        )
    if http.tls is not None:
        _check_tls(http, http.tls)


def _check_tls(http: HttpTarget, tls: HttpTls) -> None:
    if not http.url.lower().startswith("https:"):
        raise InvalidField(
            "bad_tls",
            "tls is for https URLs",
            field="target.http.tls",
            hint="write https://, or leave tls out",
        )
    for name in tls.__struct_fields__:
        path, field = getattr(tls, name), f"target.http.tls.{name}"
        if path is None:
            continue
        if not check_text(path, field, 1000).startswith("/") and not secret_names(path, field):
            raise InvalidField(
                "bad_tls",
                f"{path!r} is not the path of a file",
                field=field,
                hint="write the whole path on the worker's machine, beginning with /, or ${secret:name}",
            )
    if tls.key is not None and tls.cert is None:
        raise InvalidField(
            "bad_tls",
            "there is a key without a certificate",
            field="target.http.tls.cert",
            hint="add the certificate that the key belongs to",
        )


def _check_labels(labels: dict[str, str]) -> None:
    if len(labels) > 64:
        raise InvalidField("too_many", f"{len(labels)} labels", field="labels", hint="at most 64")
    for name, value in labels.items():
        check_text(name, "labels", 100)
        if value:
            check_text(value, f"labels.{name}", 500)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Python values as JSON has them: enums, datetimes and dataclasses become text and objects."""
    if not isinstance(data, Mapping):
        raise InvalidField(
            "bad_type", "a job is a JSON object", field="body", hint='write {"name": …, "schedule": …}'
        )
    try:
        return dict(msgspec.to_builtins(dict(data), str_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(
            "bad_payload", f"not JSON: {error}", field="payload", hint="use objects, lists, text, numbers"
        ) from None


def _convert(plain: dict[str, Any]) -> JobSpec:
    try:
        return check_spec(msgspec.convert(plain, JobSpec))
    except msgspec.ValidationError as error:
        raise _explain(plain, error) from None


def _only(spec: JobSpec, fields: Mapping[str, Any]) -> JobSpec:
    defaults = {"name": spec.name, "schedule": spec.schedule}
    return JobSpec(**{**defaults, **fields})


def _decode(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise _bad_json(error) from None


def _bad_json(error: Exception) -> InvalidField:
    return InvalidField("bad_json", f"this is not JSON: {error}", field="body", hint="send one JSON object")


def _explain(data: Any, error: msgspec.ValidationError) -> InvalidField:
    """The same refusal in our words."""
    if not isinstance(data, Mapping):
        return InvalidField(
            "bad_type", "a job is a JSON object", field="body", hint='write {"name": …, "schedule": …}'
        )
    try:
        _check_names(data)
    except InvalidField as named:
        return named
    text = str(error)
    message, _, path = text.partition(" - at `$")
    field = path.rstrip("`").lstrip(".").replace("[...]", "") or "body"
    if missing := re.search(r"missing required field `(\w+)`", message):
        field = f"{field}.{missing[1]}".removeprefix("body.")
        hint = {"name": "give the job a name", "schedule": "write for example 0 9 * * 1-5, or every 15m"}
        return InvalidField(
            "missing_field", f"{field} is missing", field=field, hint=hint.get(field, "add it")
        )
    if unknown := re.search(r"unknown field `(\w+)`", message):
        parent = struct_of(field)
        return _unknown(f"{field}.{unknown[1]}", unknown[1], parent.__struct_fields__, f"{field}.")
    message = re.sub(r"`(.*?)`", r"\1", message).replace("RFC3339 encoded ", "").replace(" | null", "")
    example = EXAMPLES.get(field) or EXAMPLES.get(field.split("[")[0].split(".")[0])
    wanted = re.search(r"Expected (\w+)", message)
    hint_text = example or (f"give {_ARTICLES.get(wanted[1], wanted[1])}" if wanted else "check the value")
    return InvalidField(
        "bad_time" if "datetime" in message else "bad_type" if wanted else "bad_value",
        f"{field}: {message[:1].lower()}{message[1:]}",
        field=field,
        hint=hint_text,
    )


_ARTICLES = {"int": "a whole number", "str": "text", "array": "a list", "object": "an object"}


def _check_names(data: Mapping[str, Any]) -> None:
    known = JobSpec.__struct_fields__
    for name in data:
        if name not in known:
            raise _unknown(str(name), str(name), known, "")


def _unknown(field: str, name: str, known: tuple[str, ...], prefix: str) -> InvalidField:
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()
    other = None if prefix else plain if plain in known else OTHER_NAMES.get(plain)
    if other is None:
        close = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
        other = prefix + close[0] if close else None
    seconds = " (in seconds)" if other and other.endswith("_seconds") and "minute" in plain else ""
    hint = f"did you mean {other}{seconds}?" if other else f"known fields: {', '.join(known)}"
    return InvalidField("unknown_field", f"there is no field {field}", field=field, hint=hint)


def _anchor_of(schedule: Schedule, spec: JobSpec) -> datetime | None:
    """DTSTART, or what was given."""
    if schedule.kind == "recurrence" and re.search(r"DTSTART", spec.schedule, re.IGNORECASE):
        mapping = schedule.mappings[0]
        return EPOCH + timedelta(seconds=mapping.zone.first_instant(mapping.rule.first))
    return schedule.anchor


def _cut(now: datetime, kind: str) -> datetime:
    now = now.astimezone(UTC).replace(microsecond=0)
    return now if kind == "interval" else now.replace(second=0)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
