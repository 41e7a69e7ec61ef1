"""Which jobs are meant: what a list shows, and what a command for many jobs acts on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sexton.errors import InvalidField
from sexton.jobs.stored import encoded
from sexton.model import JobStatus
from sexton.targets.handler import split_name
from sexton.targets.table import kinds


@dataclass(frozen=True, slots=True)
class JobFilter:
    """`label` is `name` or `name=value`; a `name` that ends with `*` is a beginning; `target` is a kind of
    target or the name of a handler, with its application or without; with `problem`, only jobs that are set
    aside."""

    status: str | None = None
    label: str | None = None
    name: str | None = None
    target: str | None = None
    app: str | None = None
    problem: bool = False

    def parameters(self) -> dict[str, Any]:
        """What the part `job_filter` of statements takes, without the namespace."""
        if self.status is not None and self.status not in tuple(JobStatus):
            hint = f"use {', '.join(JobStatus)}"
            raise InvalidField("bad_value", f"there is no status {self.status}", field="status", hint=hint)
        for field in ("label", "name", "target", "app"):
            if getattr(self, field) == "":
                hint = f"give a {field}, or leave it out"
                raise InvalidField(
                    "empty", f"{field} is empty: it would leave nothing out", field=field, hint=hint
                )
        label, has_value, value = (self.label or "").partition("=")
        beginning = self.name is not None and self.name.endswith("*")
        kind = self.target if self.target in kinds() else None
        app, handler = (None, None) if kind or self.target is None else split_name(self.target)
        return {
            "status": self.status,
            "label": label if label and not has_value else None,
            "labels": encoded({label: value}) if has_value else None,
            "name": None if beginning else self.name,
            "pattern": _beginning(self.name[:-1]) if self.name and beginning else None,
            "kind": kind,
            "handler": handler,
            "full_name": None if app is None else self.target,
            "app": self.app,
            "problem": self.problem,
        }


def _beginning(text: str) -> str:
    """The pattern of LIKE for what begins so."""
    return re.sub(r"([\\%_])", r"\\\1", text) + "%"
