"""The filter of lists of jobs and of commands for many jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from sexton.errors import InvalidField
from sexton.model import JobStatus
from sexton.postgres.jsonb import json_text
from sexton.targets.handler import split_name
from sexton.targets.table import kinds

# Splits a text like the SQL function `sexton.words_of`: at blanks and ASCII punctuation.
WORDS = re.compile(r"[^\s!-/:-@\[-`{-~]+")
MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class JobFilter:
    """A field that is None selects everything. `label` is `name` or `name=value`. A `name` that ends with `*`
    is a prefix. `target` is a kind of target, or the name of a handler with or without its application.
    `problem` selects jobs that are set aside."""

    status: str | None = None
    label: str | None = None
    name: str | None = None
    target: str | None = None
    app: str | None = None
    problem: bool = False
    #: Words, or prefixes of words, in name, owner or description.
    search: str | None = None
    #: The numbers of the jobs.
    ids: tuple[int, ...] | None = None

    @property
    def selective(self) -> bool:
        """Whether it can leave a job out: the prefix `*` alone does not."""
        return replace(self, name=None if self.name == "*" else self.name) != JobFilter()

    def parameters(self) -> dict[str, Any]:
        """The parameters of the statement part `job_filter`, without the namespace."""
        if self.status is not None and self.status not in tuple(JobStatus):
            hint = f"use {', '.join(JobStatus)}"
            raise InvalidField("bad_value", f"there is no status {self.status}", field="status", hint=hint)
        for field in ("label", "name", "target", "app", "search"):
            if getattr(self, field) == "":
                hint = f"give a {field}, or leave it out"
                raise InvalidField(
                    "empty", f"{field} is empty: it would match everything", field=field, hint=hint
                )
        label, has_value, value = (self.label or "").partition("=")
        beginning = self.name is not None and self.name.endswith("*")
        kind = self.target if self.target in kinds() else None
        app, handler = (None, None) if kind or self.target is None else split_name(self.target)
        return {
            "status": self.status,
            "label": label if label and not has_value else None,
            "labels": json_text({label: value}) if has_value else None,
            "name": None if beginning else self.name,
            "pattern": pattern_of(self.name[:-1]) if self.name and beginning else None,
            "kind": kind,
            "handler": handler,
            "full_name": None if app is None else self.target,
            "app": self.app,
            "problem": self.problem,
            "search": None if self.search is None else words_query(self.search),
            "ids": None if self.ids is None else list(self.ids),
        }


def pattern_of(text: str) -> str:
    """The LIKE pattern for texts with this prefix."""
    return re.sub(r"([\\%_])", r"\\\1", text) + "%"


def words_query(text: str, before: str = "") -> str:
    """The tsquery for all words of a text, each as a prefix, with `before` in front of it. Refuses a text
    without words."""
    words = [word.lower() for word in WORDS.findall(text)][:MOST_WORDS]
    if not words:
        raise InvalidField(
            "bad_value", f"there is no word in {text!r}", field="search", hint="write letters or digits"
        )
    return " & ".join(f"'{before}{word}':*" for word in words)
