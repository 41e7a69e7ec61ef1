"""What a worker can carry out: from the target and the options of a run to what is called, and how.

Jobs alike have the same texts, so a text that was read once is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.stored import attempt_policy
from sexton.targets.base import OpenKind
from sexton.targets.run import AttemptPolicy, Step
from sexton.targets.table import read_target

CACHE_LIMIT = 10_000


class Steps:
    """Of the kinds of targets that the worker serves."""

    def __init__(self, kinds: Mapping[str, OpenKind]) -> None:
        self._kinds = kinds
        self._steps: dict[str, Step | None] = {}
        self._policies: dict[str, AttemptPolicy] = {}

    def step(self, target: str | None) -> Step | None:
        """What to call; None for a target that is not served here, or not understood."""
        if target is None:
            return None
        try:
            return self._steps[target]
        except KeyError:
            pass
        try:
            read = read_target(msgspec.json.decode(target))
        except InvalidField:
            step = None
        else:
            opened = self._kinds.get(read.kind.name)
            step = None if opened is None else opened.step(read.spec)
        if len(self._steps) >= CACHE_LIMIT:
            self._steps.clear()
        self._steps[target] = step
        return step

    def policy(self, options: str | None) -> AttemptPolicy:
        options = options or "{}"
        try:
            return self._policies[options]
        except KeyError:
            pass
        if len(self._policies) >= CACHE_LIMIT:
            self._policies.clear()
        policy = self._policies[options] = attempt_policy(options)
        return policy
