"""Templates over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api.notifications import routes
from sexton.api.notifications.messages import NOTIFICATION
from sexton.api.notifications.routes import TemplateQuery, TemplatesQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import counted
from sexton.api.route import PageQuery
from sexton.notifications.read import NotificationView
from sexton.notifications.spec import PreviewRequest, TemplateSpec, TrialSpec
from sexton.notifications.templates import template
from sexton.notifications.templates.preview import RenderedView, preview
from sexton.notifications.templates.template import TemplateVersionView, TemplateView
from sexton.notifications.templates.trial import send_trial
from sexton.security.role import Role

REQUEST: dict[str, Any] = {
    "email": {"subject": "See you {{ when|date }}", "text": "Hello {{ name }}, see you {{ when|datetime }}."},
    "sms": {"text": "See you {{ when|datetime }}"},
    "variables": {"name": "string", "when": "datetime"},
    "urgency": "time_sensitive",
}
TEMPLATE: dict[str, Any] = {
    "template_id": "reminder",
    "version": 1,
    "latest_version": 1,
    "locales": {"default": {"email": REQUEST["email"], "sms": REQUEST["sms"]}},
    "variables": {"name": {"type": "string"}, "when": {"type": "datetime"}},
    "urgency": "time_sensitive",
    "expires_seconds": None,
    "topic": None,
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
    "deleted_at": None,
}


@operation(routes.LIST_TEMPLATES, lists=True, answer=list[TemplateView], answer_example=[TEMPLATE])
async def list_templates(call: Call) -> Answer:
    """Their latest versions, in the order of their ids."""
    page = await template.list_templates(call.reading, **call.filters(TemplatesQuery))
    return await counted(call, page, template.count_templates, TemplatesQuery)


@operation(routes.PUT_TEMPLATE, heavy=True, answer=TemplateView, example=REQUEST, answer_example=TEMPLATE)
async def put_template(call: Call) -> Answer:
    """The texts in one language, `locale`, or for all others. Existing messages keep their version."""
    return Answer(
        await template.put_template(call.context, call.path("template_id"), call.json(TemplateSpec))
    )


@operation(routes.GET_TEMPLATE, answer=TemplateView, answer_example=TEMPLATE)
async def get_template(call: Call) -> Answer:
    """The latest version, or another."""
    version = call.query(TemplateQuery).version
    return Answer(await template.get_template(call.context, call.path("template_id"), version=version))


@operation(
    routes.LIST_TEMPLATE_VERSIONS, lists=True, answer=list[TemplateVersionView],
    answer_example=[
        {"version": 1, "locales": ["default"], "created_by": "ann", "created_at": "2027-03-01T12:00:00Z"}
    ],
)  # fmt: skip
async def list_template_versions(call: Call) -> Answer:
    """The latest first."""
    template_id, filters = call.path("template_id"), call.filters(PageQuery)
    return call.paged(await template.list_versions(call.reading, template_id, **filters))


@operation(routes.DELETE_TEMPLATE, status=204)
async def delete_template(call: Call) -> Answer:
    """New messages with it are refused; existing messages still go out."""
    await template.delete_template(call.context, call.path("template_id"))
    return Answer(None)


@operation(
    routes.PREVIEW_TEMPLATE, heavy=True, answer=list[RenderedView],
    example={"channel": "sms", "locale": "de", "timezone": "Europe/Berlin"},
    answer_example=[
        {
            "channel": "sms", "locale": "default", "parts": {"text": "See you 14.03.2027, 10:00:00"},
            "sms_length": 28, "sms_segments": 1, "sms_encoding": "GSM-7",
        }
    ],
)  # fmt: skip
async def preview_template(call: Call) -> Answer:
    """As a recipient would get it. Variables without a value get their samples. With `texts`, as the next
    version would be: nothing is saved, and the role editor is needed."""
    wish = call.json(PreviewRequest, optional=True)
    if wish.texts is not None:
        call.caller.require(Role.EDITOR, call.context.namespace)
    return Answer(await preview(call.context, call.path("template_id"), wish))


@operation(
    routes.TRY_TEMPLATE, status=201, answer=NotificationView,
    example={"channel": "email", "address": "ann@example.org"},
    answer_example={**NOTIFICATION, "urgency": "asap"},
)  # fmt: skip
async def try_template(call: Call) -> Answer:
    """Sent at once. Variables without a value get their samples; `urgency` is asap."""
    return Answer(await send_trial(call.context, call.path("template_id"), call.json(TrialSpec)))
