"""What changes did: recorded, and told apart from what was so already."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sexton.content.model import Applied
from sexton.postgres.transaction import Context
from sexton.targets.run import RunContext


def own_effect(applied: Applied, state_before: str | None, version_before: int | None) -> Applied:
    """Correct `no_op` to `changed`, if an earlier attempt of the same change made it and its end was not
    recorded: the entity then differs from its state before that attempt. An adapter that ignores keys cannot
    know this."""
    other_state = state_before is not None and state_before != applied.state_after
    other_version = version_before is not None and applied.version not in (None, version_before)
    if applied.effect == "no_op" and (other_state or other_version):
        return msgspec.structs.replace(
            applied, effect="changed", state_before=state_before or applied.state_before
        )
    return applied


async def settle(context: Context, went: Sequence[tuple[int, RunContext, Applied]]) -> None:
    """Record that runs have carried out these actions, and what each did."""
    if went:
        await context.execute(
            "content/settle",
            schedules=[number for number, _, _ in went],
            at=[run.scheduled_at for _, run, _ in went],
            runs=[run.id for _, run, _ in went],
            changed=[applied.effect == "changed" for *_, applied in went],
            states_before=[applied.state_before for *_, applied in went],
            states_after=[applied.state_after for *_, applied in went],
            versions=[applied.version for *_, applied in went],
        )
