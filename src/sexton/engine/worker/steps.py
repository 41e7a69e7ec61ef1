"""What a worker can carry out: from the target and the options of a run to its step and its policy.

Similar jobs have the same texts, so each text is read once and then looked up.
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
    """The steps and policies for the kinds of target that the worker serves."""

    def __init__(self, kinds: Mapping[str, OpenKind]) -> None:
        self._kinds = kinds
        self._steps: dict[str, Step | None] = {}
        self._policies: dict[str, AttemptPolicy] = {}

    def step(self, target: str | None) -> Step | None:
        """The step of a target; None if this worker does not serve or understand it."""
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
