"""Reads and checks specifications of jobs, without the database.

msgspec reads a specification in one call and checks types, ranges and lengths. Only if it refuses one, the
input is examined again, to say which field is wrong and what to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.concurrency import check_concurrency_key
from sexton.jobs.payload import encode_payload
from sexton.jobs.refusal import check_names, explain, not_an_object
from sexton.jobs.spec import JobSpec
from sexton.model import decode_id
from sexton.refusal import UNREADABLE, bad_json, check_text, types_at
from sexton.schedules.zone import EPOCH
from sexton.targets.key import occurrence_key
from sexton.targets.table import check_dead_letter_target, check_target
from sexton.targets.template import check_template

# Names that jobs cannot have, because paths such as /jobs/bulk have another meaning.
WORDS_OF_PATHS = ("actions", "bulk", "by-name")

# The longest id that a new job can get.
LARGEST_ID = 2**63 - 1

_DECODER = msgspec.json.Decoder(JobSpec)
# The longest text of every field that has one.
_LENGTHS = {
    field.name: kind.max_length
    for field in msgspec.structs.fields(JobSpec)
    for kind in types_at(field.type)
    if isinstance(kind, msgspec.inspect.StrType) and kind.max_length is not None
}


def read_spec(data: Mapping[str, Any] | bytes | str | JobSpec) -> JobSpec:
    """A job from JSON or from a mapping. Raises `InvalidField` with the field and a hint."""
    if isinstance(data, JobSpec):
        return check_spec(data)
    if isinstance(data, bytes | str):
        try:
            return _check(_DECODER.decode(data))
        except msgspec.ValidationError as error:
            raise explain(_decode(data), error) from None
        except UNREADABLE as error:
            raise bad_json(error) from None
    return _convert(_plain(data))


def read_changes(spec: JobSpec, changes: Mapping[str, Any]) -> JobSpec:
    """A job with some fields changed. null restores the default of a field."""
    plain = _plain(changes)
    known = {field: getattr(spec, field) for field in spec.__struct_fields__ if field not in plain}
    check_names(plain)
    given = {name: value for name, value in plain.items() if value is not None}
    missing = [name for name in ("name", "schedule") if name in plain and plain[name] is None]
    if missing:
        raise InvalidField(
            "missing_field", f"a job needs a {missing[0]}", field=missing[0], hint="leave it out to keep it"
        )
    return _convert({**msgspec.to_builtins(_only(spec, known)), **given})


def check_spec(spec: JobSpec) -> JobSpec:
    """Check a specification that was made in code like one that was read."""
    checked = _convert(_plain(spec))
    return spec if checked == spec else checked


def _check(spec: JobSpec) -> JobSpec:
    """Check what types cannot express: names, texts, targets, payload, templates. Returns the specification
    with its targets in the form in which they are stored."""
    _check_name(spec.name)
    for field, longest in _LENGTHS.items():
        text = getattr(spec, field)
        if text is not None:
            check_text(text, field, longest)
    targets = {}
    if spec.target is not None:
        targets["target"] = check_target(spec.target, spec.payload).to_json()
    if spec.dead_letter_target is not None:
        targets["dead_letter_target"] = check_dead_letter_target(spec.dead_letter_target).to_json()
    if spec.labels:
        check_labels(spec.labels)
    if spec.payload is not None:
        encode_payload(spec.payload)
    if spec.idempotency_key_template is not None:
        check_template(spec.idempotency_key_template, spec.payload)
        occurrence_key(
            spec.idempotency_key_template,
            job_id=LARGEST_ID,
            job_name=spec.name,
            scheduled_at=EPOCH,
            timezone="UTC",
            payload=spec.payload,
        )
    if spec.concurrency_key is not None:
        check_concurrency_key(spec.concurrency_key, spec.name, spec.payload)
    return msgspec.structs.replace(spec, **targets) if targets else spec


def read_target(data: Any, payload: Any) -> dict[str, Any]:
    """Check a target like that of a job."""
    target = read_spec({"name": "target", "schedule": "@daily", "target": data, "payload": payload}).target
    assert target is not None
    return target


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
    if name in WORDS_OF_PATHS:
        raise InvalidField(
            "bad_name",
            f"{name} has another meaning in /jobs/{name}",
            field="name",
            hint="choose another name",
        )
    if name.startswith("j_") and decode_id("j", name) is not None:
        raise InvalidField(
            "bad_name", f"{name} looks like the id of a job", field="name", hint="do not begin it with j_"
        )


def check_labels(labels: Mapping[str, str | None]) -> None:
    """Names and values of labels."""
    for name, value in labels.items():
        if not name.strip():
            raise InvalidField(
                "empty", "a label has no name", field="labels", hint='write {"team": "billing"}'
            )
        check_text(name, "labels", 100)
        if value:
            check_text(value, f"labels.{name}", 500)


def _plain(data: Mapping[str, Any] | JobSpec) -> dict[str, Any]:
    """Python values as JSON has them: enums, datetimes and dataclasses become text and objects."""
    if not isinstance(data, Mapping | JobSpec):
        raise not_an_object()
    try:
        given = data if isinstance(data, JobSpec) else dict(data)
        return dict(msgspec.to_builtins(given, str_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(
            "bad_payload", f"not JSON: {error}", field="payload", hint="use objects, lists, text, numbers"
        ) from None


def _convert(plain: dict[str, Any]) -> JobSpec:
    try:
        return _check(msgspec.convert(plain, JobSpec))
    except msgspec.ValidationError as error:
        raise explain(plain, error) from None


def _only(spec: JobSpec, fields: Mapping[str, Any]) -> JobSpec:
    defaults = {"name": spec.name, "schedule": spec.schedule}
    return JobSpec(**{**defaults, **fields})


def _decode(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except UNREADABLE as error:
        raise bad_json(error) from None
