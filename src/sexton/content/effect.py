"""What a change did, told apart from what was so already."""

from __future__ import annotations

import msgspec

from sexton.content.model import Applied


def own_effect(applied: Applied, state_before: str | None, version_before: int | None) -> Applied:
    """Of a change that may have been made by a try before, whose end was not noted: what is so now, and was
    not before that try, is our own doing. An adapter that ignores keys cannot know."""
    other_state = state_before is not None and state_before != applied.state_after
    other_version = version_before is not None and applied.version not in (None, version_before)
    if applied.effect == "no_op" and (other_state or other_version):
        return msgspec.structs.replace(
            applied, effect="changed", state_before=state_before or applied.state_before
        )
    return applied
