"""Which jobs are meant: what a list shows, and what a command for many jobs acts on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sexton.errors import InvalidField
from sexton.model import JobStatus
from sexton.postgres.jsonb import json_text
from sexton.targets.handler import split_name
from sexton.targets.table import kinds

# As `sexton.words_of` takes a text apart: between blanks and ASCII punctuation.
WORDS = re.compile(r"[^\s!-/:-@\[-`{-~]+")
MOST_WORDS = 8


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
    #: Words of name, owner or description, or beginnings of them.
    search: str | None = None
    #: The jobs themselves, by their numbers.
    ids: tuple[int, ...] | None = None

    def parameters(self) -> dict[str, Any]:
        """What the part `job_filter` of statements takes, without the namespace."""
        if self.status is not None and self.status not in tuple(JobStatus):
            hint = f"use {', '.join(JobStatus)}"
            raise InvalidField("bad_value", f"there is no status {self.status}", field="status", hint=hint)
        for field in ("label", "name", "target", "app", "search"):
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
    """The pattern of LIKE for what begins so."""
    return re.sub(r"([\\%_])", r"\\\1", text) + "%"


def words_query(text: str) -> str:
    """The tsquery for all words of a text, each as the beginning of one. Refuses a text without any."""
    words = [word.lower() for word in WORDS.findall(text)][:MOST_WORDS]
    if not words:
        raise InvalidField(
            "bad_value", f"there is no word in {text!r}", field="search", hint="write letters or digits"
        )
    return " & ".join(f"'{word}':*" for word in words)
