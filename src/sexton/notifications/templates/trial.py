"""Sends a test message of a template at once."""

from __future__ import annotations

from sexton.errors import InvalidField
from sexton.notifications.message import create_message
from sexton.notifications.model import Urgency
from sexton.notifications.read import NotificationView
from sexton.notifications.spec import NotificationSpec, TrialSpec
from sexton.notifications.templates.template import read_template, sample_of
from sexton.postgres.transaction import Context, command


@command
async def send_trial(context: Context, template_id: str, spec: TrialSpec) -> NotificationView:
    if spec.channel is None:
        raise InvalidField("missing_field", "no channel is given", field="channel", hint="such as email")
    template = await read_template(context, template_id, spec.version)
    samples = {
        name: sample_of(name, each)
        for name, each in template.variables.items()
        if each.default is None and name not in spec.template_vars
    }
    return await create_message(
        context,
        NotificationSpec(
            template_id=template_id,
            template_version=template.version,
            channel=spec.channel,
            user_id=spec.user_id,
            address=spec.address,
            template_vars={**samples, **spec.template_vars},
            urgency=Urgency.ASAP,
            max_retries=0,
        ),
    )
