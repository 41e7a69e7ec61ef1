"""Acting on many things over HTTP: the common part of such requests. A call acts on some of them, and says
where the next call continues."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from sexton.api.operation import Answer, Call
from sexton.api.route import ItemsRequest
from sexton.errors import InvalidField
from sexton.jobs.items import ItemChoice, Row, WorkOnMany, act_on_items, count_items
from sexton.jobs.tally import check_selective
from sexton.refusal import aware


def chosen_of(chosen: msgspec.Struct, many: str) -> tuple[list[str] | None, dict[str, Any]]:
    """The ids of a filter, or its other given fields. An empty filter is refused, unless `all` is true."""
    given = {name: value for name, value in msgspec.structs.asdict(chosen).items() if value not in (None, "")}
    every, ids = given.pop("all"), given.pop("ids", None)
    if ids is not None and (given or every):
        raise InvalidField(
            "bad_filter", "ids goes with no other field", field="filter.ids", hint="leave the others out"
        )
    names = [name for name in chosen.__struct_fields__ if name not in ("ids", "all")]
    hint = f"give ids, {', '.join(names)}, or say all"
    check_selective(ids is not None or bool(given), every=every, many=many, hint=hint)
    return ids, {
        name: aware(value, f"filter.{name}") if isinstance(value, datetime) else value
        for name, value in given.items()
    }


async def act(call: Call, wish: ItemsRequest, choice: ItemChoice[Row], work: WorkOnMany) -> Answer:
    """Count the selected things, or act on the next of them."""
    if wish.dry_run:
        return Answer(await count_items(call.context, choice, wish.after))
    done = await act_on_items(
        call.context, choice, work, after=wish.after, expected=wish.expected, limit=wish.limit
    )
    return Answer(done)
