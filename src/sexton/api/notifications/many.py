"""Acting on many campaigns, templates or recipients over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api import items
from sexton.api.items import chosen_of
from sexton.api.notifications import campaign_routes, routes
from sexton.api.notifications.campaign_routes import CampaignActionRequest
from sexton.api.notifications.routes import RecipientActionRequest, TemplateActionRequest
from sexton.api.operation import Answer, Call, operation
from sexton.errors import InvalidField
from sexton.jobs.items import ItemChoice, Work, one_by_one
from sexton.jobs.tally import ItemTally, SampledItem
from sexton.notifications.campaigns import campaign
from sexton.notifications.campaigns import view as campaign_view
from sexton.notifications.campaigns.spec import OVER, CampaignStatus
from sexton.notifications.campaigns.view import CampaignView
from sexton.notifications.recipients import recipient
from sexton.notifications.recipients.recipient import RecipientView
from sexton.notifications.templates import template
from sexton.notifications.templates.template import TemplateView
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context

#: For each action, the states that it applies to and the command that carries it out.
CAMPAIGN_WORKS: dict[str, tuple[frozenset[CampaignStatus], Work]] = {
    "start": (frozenset({CampaignStatus.DRAFT}), campaign.start),
    "pause": (
        frozenset(CampaignStatus) - {*OVER, CampaignStatus.DRAFT, CampaignStatus.PAUSED},
        campaign.pause,
    ),
    "resume": (frozenset({CampaignStatus.PAUSED, CampaignStatus.WAITING}), campaign.resume),
    "cancel": (frozenset(CampaignStatus) - {*OVER}, campaign.cancel),
}
TEMPLATE_WORKS: dict[str, Work] = {"delete": template.delete_template, "restore": template.restore_template}
RECIPIENT_WORKS: dict[str, Work] = {
    "suppress": recipient.suppress_recipient,
    "unsuppress": recipient.unsuppress_recipient,
    "erase": recipient.erase_recipient,
}


@operation(
    campaign_routes.ACT_ON_CAMPAIGNS, heavy=True, answer=ItemTally,
    example={"action": "pause", "filter": {"status": "sending"}},
    answer_example={"matched": 3, "done": 3, "ids": ["k_1", "k_2", "k_5"]},
)  # fmt: skip
async def act_on_campaigns(call: Call) -> Answer:
    """Starts, pauses, resumes or cancels the campaigns that match a filter, each as the call for one campaign
    would: up to `limit` of them, in one transaction. If there are more, the answer has a `cursor`; the same
    request with it as `after` continues. A refused one does not stop the others: `refused` gives the reasons
    by code. `dry_run` counts. The reason is that of the request."""
    wish = call.json(CampaignActionRequest)
    ids, given = chosen_of(wish.filter, "campaigns")
    meant, work = CAMPAIGN_WORKS[wish.action]

    async def page(context: Context, cursor: str | None, limit: int) -> Page[CampaignView]:
        return await campaign_view.list_campaigns(context, cursor=cursor, limit=limit, **given)

    choice = ItemChoice(
        "campaign", "campaigns", page, campaign_view.get_campaign, _campaign,
        lambda row: row.status in meant, ids,
    )  # fmt: skip
    return await items.act(call, wish, choice, one_by_one(work))


@operation(
    routes.ACT_ON_TEMPLATES, heavy=True, answer=ItemTally,
    example={"action": "delete", "filter": {"search": "old-"}},
    answer_example={"matched": 2, "done": 2, "ids": ["old-1", "old-2"]},
)  # fmt: skip
async def act_on_templates(call: Call) -> Answer:
    """Deletes the templates that match a filter, each as the call for one template would, or restores deleted
    templates by their ids: up to `limit` of them, in one transaction. If there are more, the answer has a
    `cursor`; the same request with it as `after` continues. A refused one does not stop the others: `refused`
    gives the reasons by code. `dry_run` counts."""
    wish = call.json(TemplateActionRequest)
    ids, given = chosen_of(wish.filter, "templates")
    if wish.action == "restore" and ids is None:
        raise InvalidField(
            "bad_filter",
            "a filter does not find deleted templates",
            field="filter.ids",
            hint="name them by their ids",
        )

    async def page(context: Context, cursor: str | None, limit: int) -> Page[TemplateView]:
        return await template.list_templates(context, cursor=cursor, limit=limit, **given)

    deleted = wish.action == "restore"
    choice = ItemChoice(
        "template", "templates", page, template.get_template, _template,
        lambda row: (row.deleted_at is not None) == deleted, ids,
    )  # fmt: skip
    return await items.act(call, wish, choice, one_by_one(TEMPLATE_WORKS[wish.action]))


@operation(
    routes.ACT_ON_RECIPIENTS, heavy=True, answer=ItemTally,
    example={"action": "erase", "filter": {"search": "test-"}, "dry_run": True},
    answer_example={
        "dry_run": True, "matched": 2,
        "sample": [{"id": "test-1", "name": "test-1@example.org", "status": None}],
    },
)  # fmt: skip
async def act_on_recipients(call: Call) -> Answer:
    """Suppresses the recipients that match a filter: nothing is sent to them on any channel, not even what is
    scheduled, until they are unsuppressed. The reason is that of the request. Or erases them, each as the
    call for one recipient would: all their data, for good. Up to `limit` of them, in one transaction. If
    there are more, the answer has a `cursor`; the same request with it as `after` continues. A refused one
    does not stop the others: `refused` gives the reasons by code. `dry_run` counts. To erase needs a reason
    (`Sexton-Reason`), and the first call needs the `expected` number: of those that match a filter, no more
    are erased than a dry run counts to the end."""
    wish = call.json(RecipientActionRequest)
    ids, given = chosen_of(wish.filter, "recipients")
    erasing = wish.action == "erase"
    if erasing and not wish.dry_run:
        _check_erasure(wish, call.context)

    async def page(context: Context, cursor: str | None, limit: int) -> Page[RecipientView]:
        return await recipient.list_recipients(context, cursor=cursor, limit=limit, **given)

    choice = ItemChoice(
        "recipient", "recipients", page, recipient.get_recipient, _recipient,
        lambda row: erasing or (row.suppressed_at is None) == (wish.action == "suppress"), ids, exact=erasing,
    )  # fmt: skip
    return await items.act(call, wish, choice, one_by_one(RECIPIENT_WORKS[wish.action]))


def _check_erasure(wish: RecipientActionRequest, context: Context) -> None:
    """Refuse an erasure that could be an accident."""
    if context.reason is None:
        raise InvalidField(
            "missing_reason", "no reason is given, and erasing cannot be undone", field="Sexton-Reason",
            hint="say why in the header Sexton-Reason; it is kept in the audit",
        )  # fmt: skip
    if wish.expected is None and wish.after is None:
        raise InvalidField(
            "missing_field", "the expected number of recipients is not given", field="expected",
            hint="count them (dry_run), and give that number",
        )  # fmt: skip


def _campaign(row: CampaignView) -> SampledItem:
    return SampledItem(id=row.campaign_id, name=row.name, status=row.status.value)


def _template(row: TemplateView) -> SampledItem:
    return SampledItem(id=row.template_id, name=row.template_id)


def _recipient(row: RecipientView) -> SampledItem:
    name: Any = row.email or row.phone or row.user_id
    status = None if row.suppressed_at is None else "suppressed"
    return SampledItem(id=row.user_id, name=name, status=status)
