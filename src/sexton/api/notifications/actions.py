"""Acting on many messages over HTTP."""

from __future__ import annotations

from sexton.api import items
from sexton.api.items import chosen_of
from sexton.api.notifications import routes
from sexton.api.notifications.routes import NotificationActionRequest
from sexton.api.operation import Answer, Call, operation
from sexton.jobs.tally import ItemTally
from sexton.notifications.bulk import WORKS, check_choice, message_choice
from sexton.notifications.filter import MessageFilter
from sexton.notifications.read import chosen_by


@operation(
    routes.ACT_ON_NOTIFICATIONS, heavy=True, answer=ItemTally,
    example={"action": "cancel", "filter": {"template_id": "reminder"}},
    answer_example={"matched": 2, "done": 2, "ids": ["n_1", "n_2"]},
)  # fmt: skip
async def act_on_notifications(call: Call) -> Answer:
    """Cancels the messages that match a filter and were not submitted, or restores those that were cancelled
    and whose time is in the future, each as the call for one message would: up to `limit` of them, in one
    transaction. If there are more, the answer has a `cursor`; the same request with it as `after` continues.
    A refused message does not stop the others: `refused` gives the reasons by code. `dry_run` counts."""
    wish = call.json(NotificationActionRequest)
    ids, given = chosen_of(wish.filter, "messages")
    if ids is not None:
        chosen = check_choice(MessageFilter(), all_=True, action=wish.action)
    else:
        chosen = check_choice(chosen_by(**given), all_=wish.filter.all, action=wish.action)
    return await items.act(call, wish, message_choice(chosen, ids), WORKS[wish.action])
