"""Acting on many messages over HTTP: a call acts on some of them, and says where the next call continues."""

from __future__ import annotations

from sexton.api.notifications import routes
from sexton.api.notifications.routes import NotificationActionFilter, NotificationActionRequest
from sexton.api.operation import Answer, Call, operation
from sexton.errors import InvalidField
from sexton.notifications.bulk import act_on_messages, check_choice, count_chosen
from sexton.notifications.filter import MessageFilter
from sexton.notifications.read import chosen_by
from sexton.notifications.tally import NotificationTally


@operation(
    routes.ACT_ON_NOTIFICATIONS, answer=NotificationTally,
    example={"action": "cancel", "filter": {"template_id": "reminder"}},
    answer_example={"matched": 41, "done": 41},
)  # fmt: skip
async def act_on_notifications(call: Call) -> Answer:
    """Cancels the messages that match a filter and were not submitted, or restores those that were cancelled
    and whose time is in the future, each as the call for one message would: up to `limit` of them, in one
    transaction. If there are more, the answer has a `cursor`; the same request with it as `after` continues.
    A refused message does not stop the others: `refused` gives the reasons by code. `dry_run` counts."""
    wish = call.json(NotificationActionRequest)
    given, ids = wish.filter, wish.filter.ids
    if ids is not None:
        if given != NotificationActionFilter(ids=ids):
            raise InvalidField(
                "bad_filter", "ids goes with no other field", field="filter.ids", hint="leave the others out"
            )
        chosen = check_choice(MessageFilter(), all_=True, action=wish.action)
    else:
        named = chosen_by(given.user_id, given.status, given.template_id, given.campaign_id)
        chosen = check_choice(named, all_=given.all, action=wish.action)
    if wish.dry_run:
        return Answer(await count_chosen(call.context, chosen, ids))
    done = await act_on_messages(
        call.context, wish.action, chosen, ids, after=wish.after, expected=wish.expected, limit=wish.limit
    )
    return Answer(done)
