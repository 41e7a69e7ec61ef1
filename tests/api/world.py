"""A valid request for every operation of the API, and one object of every kind that it can name.

For the tests that walk all operations. A request is the example of the documentation, with what `BODIES` puts
instead where that would be refused. The objects that its path and its body name are made first, in the
namespace of the credential, with a mark in their texts by which they can be told from those of another one.
An operation with a new kind of object in its path needs a line in `MAKERS`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sexton import clock
from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.api.route import PREFIX
from sexton.model import decode_id
from sexton.notifications.recipients.unsubscribe import Unsubscription, seal_link
from sexton.security.keys import read_pepper
from sexton.targets.http.step import signature_headers
from tests.api.conftest import Api, Reply
from tests.seeding import Store

#: What a server needs that keeps the secrets of a world.
SECRET_KEY = base64.b64encode(b"w" * 32).decode()
EVENTS_SECRET = "the-secret-of-the-events"
BY_NAME = {one.name: one for one in operations()}
FORM = "application/x-www-form-urlencoded"
LINES = "application/x-ndjson"
#: Ids that Sexton gives, by the path parameter that they are for: none has the same one in two namespaces.
GIVEN = {
    "job", "run", "dead", "key", "schedule", "release", "item", "feed", "notification", "campaign",
    "calendar_feed", "calendar_token", "notification_schedule", "worker", "namespace", "inbox_token",
    "feed_token", "link_token",
}  # fmt: skip
#: Of no namespace.
OF_NONE = ("node", "session")


@dataclass(frozen=True)
class Request:
    """What is sent."""

    method: str
    path: str
    body: Any = None
    data: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class World:
    """What a namespace has, as far as it was needed."""

    def __init__(
        self,
        api: Api,
        store: Store,
        headers: Mapping[str, str] | None = None,
        mark: str = "elm",
        namespace: str = "default",
    ) -> None:
        self.api = api
        self.store = store
        self.headers = headers or {}
        self.mark = mark
        self.namespace = namespace
        self.ids: dict[str, str] = {}

    async def id(self, kind: str) -> str:
        """That of the object of this kind, which is made if there is none."""
        if kind not in self.ids:
            self.ids[kind] = await MAKERS[kind](self)
        return self.ids[kind]

    async def furnish(self) -> None:
        """Make one of everything."""
        for kind in MAKERS:
            if kind not in OF_NONE:
                await self.id(kind)

    async def send(self, name: str, *, request: Request | None = None, **headers: str) -> Reply:
        """Carry an operation out."""
        request = request or await self.request(BY_NAME[name])
        sent = {**self.headers, **request.headers, **headers}
        return await self.api(request.method, request.path, request.body, data=request.data, headers=sent)

    async def make(self, name: str, found: str, body: Any = None) -> str:
        """Carry an operation out that must succeed; a field of its answer."""
        request = await self.request(BY_NAME[name])
        if body is not None:
            request = Request(request.method, request.path, body, None, request.headers)
        reply = await self.send(name, request=request)
        assert reply.status < 300, (name, reply.content)
        return str(reply.json()[found]) if found else ""

    async def request(self, one: Operation) -> Request:
        """A request that is not refused. What must be there before is made."""
        for before in FIRST.get(one.name, ()):
            reply = await self.send(before)
            assert reply.status < 300 or reply.status == 409, (before, reply.content)
        for kind in NEEDED.get(one.name, ()):
            await self.id(kind)
        ids = {
            name: NAMES[kind][0] if NAMES.get(kind, ("", ""))[1] == one.name else await self.id(kind)
            for name, kind in kinds_of(one).items()
        }
        return await self.request_with(one, ids)

    async def request_with(self, one: Operation, ids: Mapping[str, str]) -> Request:
        """The same, for these ids."""
        path = one.template.format_map(ids) + QUERIES.get(one.name, "")
        if one.name in PREPARED:
            return await PREPARED[one.name](self, one, path)
        body = BODIES.get(one.name, one.example)
        if body is None:
            return Request(one.method, path)
        text = body if isinstance(body, str) else json.dumps(body)
        # Examples of the documentation are in a year that passes.
        text = text.replace("2027-", "2099-").replace("MARK", self.mark)
        if isinstance(body, str):
            return Request(one.method, path, None, text.encode(), {"Content-Type": LINES})
        return Request(one.method, path, json.loads(text))


def kinds_of(one: Operation) -> dict[str, str]:
    """What the parameters of a path name: mostly what they are called."""
    return {name: _kind(one, name) for name in re.findall(r"\{(\w+)\}", one.path)}


def _kind(one: Operation, name: str) -> str:
    if name == "token" and one.path.startswith("/calendar"):
        return "calendar_token"
    if name == "token":
        return (
            f"{one.path.split('/')[2 if one.path.startswith('/content') else 1].rstrip('s')}_token".replace(
                "notification", "link"
            )
        )
    if name == "run" and one.path.startswith("/dead/"):
        return "dead"
    if one.name == "remove_release_item" and name == "schedule":
        return "item"
    return name


TEMPLATE = {"email": {"subject": "MARK", "text": "Hello from MARK"}, "in_app": {"text": "MARK"}}
MESSAGE = {"user_id": "ann", "channel": "email", "template_id": "week", "send_at": "2099-03-14T09:00:00Z"}
#: Instead of the examples of the documentation. MARK becomes the mark of the world.
BODIES: dict[str, Any] = {
    "create_job": {"name": "MARK", "schedule": "0 9 1 1 *", "payload": "MARK", "target": {"handler": "work"}},
    "put_job": {"schedule": "0 9 1 1 *", "description": "MARK"},
    "edit_job": {"description": "MARK, edited"},
    "create_jobs": '{"name": "MARK-line", "schedule": "every 1h"}\n',
    "pause_job": {"reason": "MARK"},
    "reschedule_job": {"at": "2099-01-01T00:00:00Z"},
    "skip_next_occurrence": {},
    "run_job": {"payload": "MARK"},
    "backfill_job": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"},
    "act_on_jobs": {"action": "pause", "filter": {"all": True}, "reason": "MARK"},
    "repeat_run": {"payload": "MARK"},
    "cancel_run": {"reason": "MARK"},
    "act_on_many_runs": {"action": "cancel", "filter": {"all": True}, "reason": "MARK"},
    "act_on_notifications": {"action": "cancel", "filter": {"all": True}},
    "act_on_campaigns": {"action": "cancel", "filter": {"all": True}},
    "act_on_templates": {"action": "delete", "filter": {"all": True}},
    "act_on_content": {"action": "cancel", "filter": {"all": True}},
    "act_on_releases": {"action": "cancel", "filter": {"all": True}},
    "redrive_dead": {},
    "redrive_many": {"all": True},
    "discard_many": {"all": True},
    "set_dead_target": {"target": {"http": {"url": "https://ops.example/MARK"}}},
    "change_queue": {"rate": 3},
    "pause_queue": {"reason": "MARK"},
    "send_test": {"target": {"http": {"url": "http://127.0.0.1:9/"}}},
    "create_key": {"name": "MARK", "role": "viewer"},
    "put_secret": {"value": EVENTS_SECRET, "hosts": ["sms.example.com"]},
    "join_worker": {"name": "MARK", "handlers": ["work"]},
    "claim_runs": {"limit": 2},
    "beat_worker": {},
    "create_schedule": {
        "entity_type": "post", "entity_id": "42", "action": "publish", "at": "2099-03-14T09:00:00Z",
        "recurrence_rule": "FREQ=DAILY", "created_by": "ann", "note": "MARK", "needs_approval": True,
        "force": True,
    },
    "reschedule_content": {"local_time": "2099-03-15 09:00", "force": True},
    "import_schedules": '{"entity_type": "post", "entity_id": 1, "action": "publish", "created_by": "MARK", '
    '"at": "2099-03-14T08:00:00Z"}\n',
    "create_window": {
        "entity_type": "banner", "entity_id": "7", "starts": "2099-03-15 09:00", "ends": "2099-03-15 17:00",
        "timezone": "Europe/Berlin", "created_by": "ann", "note": "MARK", "force": True,
    },
    "create_release": {
        "items": [{"entity_type": "post", "entity_id": "42", "action": "publish"},
                  {"entity_type": "post", "entity_id": "43", "action": "publish"}],
        "at": "2099-04-01T09:00:00Z", "created_by": "ann", "note": "MARK", "needs_approval": True,
        "force": True,
    },
    "add_release_items": {
        "items": [{"entity_type": "post", "entity_id": "44", "action": "archive"}], "force": True,
    },
    "reschedule_release": {"at": "2099-04-02T09:00:00Z", "force": True},
    "put_entity": {"body": {"title": "MARK"}},
    "put_adapter": {"kind": "http", "config": {"url": "https://MARK.example", "preset": "strapi"}},
    "set_notices": {"url": "https://hooks.example/MARK"},
    "put_template": TEMPLATE,
    "preview_template": {"user_id": "ann"},
    "try_template": {"channel": "email", "address": "MARK@example.org"},
    "put_recipient": {"email": "ann@example.org", "timezone": "Europe/Berlin", "fields": {"name": "MARK"}},
    "change_recipient": {"fields": {"name": "MARK, changed"}},
    "import_recipients": '{"user_id": "ann", "fields": {"name": "MARK, imported"}}\n',
    "create_notification": MESSAGE,
    "create_notifications": json.dumps(MESSAGE) + "\n",
    "reschedule_notification": {"send_at": "2099-03-15T09:00:00Z"},
    "set_notification_settings": {"timezone": "Europe/Berlin"},
    "create_notification_schedule": {
        "recurrence_rule": "0 9 * * mon", "template_id": "week", "channel": "email", "user_id": "ann",
        "name": "MARK",
    },
    "put_segment": {"filter": {"has": "email"}, "description": "MARK"},
    "put_audience": '{"user_id": "ann", "vars": {"seat": "MARK"}}\n',
    "create_campaign": {
        "name": "MARK", "template_id": "week", "channel": "email", "audience": {"user_ids": ["ann"]},
        "send_at": "2099-03-14T09:00:00Z", "draft": True,
    },
    "preview_campaign": {"name": "MARK", "template_id": "week", "audience": {"user_ids": ["ann"]}},
    "pause_campaign": {"reason": "MARK"},
    "cancel_campaign": {"reason": "MARK"},
    "put_digest": {"template_id": "week", "channel": "email", "schedule": "0 9 1 1 *"},
    "add_digest_event": {"user_id": "ann", "data": {"text": "MARK"}},
    "put_sequence": {
        "steps": [{"template_id": "week", "channel": "email", "day": 3, "at": "09:00"}],
        "stop_on": ["purchased"], "topic": "MARK",
    },
    "put_provider": {
        "channel": "sms", "kind": "http",
        "config": {"url": "https://sms.example.com/MARK", "events_secret": "${secret:events}"},
    },
    "test_provider": {},
    "suppress": {"reason": "MARK"},
    "mark_recipient_inbox": {"read": True},
}  # fmt: skip
QUERIES = {
    "get_events": "?seconds=1",
    "search": "?q=a",
    "list_zones": "?search=berlin",
    "get_calendar": "?start=2026-01-01T00:00:00Z&end=2026-01-08T00:00:00Z",
    "content_calendar": "?start=2099-03-01T00:00:00Z&end=2099-03-31T00:00:00Z",
}
#: What must have been done before.
FIRST = {
    "resume_job": ("pause_job",),
    "restore_job": ("delete_job",),
    "resume_queue": ("pause_queue",),
    "remove_notices": ("set_notices",),
    "resume_notification_schedule": ("pause_notification_schedule",),
    "pause_campaign": ("start_campaign",),
    "resume_campaign": ("start_campaign", "pause_campaign"),
    "leave_sequence": ("enter_sequence",),
    "get_sequence_member": ("enter_sequence",),
    "note_recipient_event": ("enter_sequence",),
}
#: What a body names, beside the path.
PEOPLE = ("user_id", "template_id")
NEEDED = {
    "redrive_many": ("dead",),
    "discard_many": ("dead",),
    "act_on_jobs": ("job",),
    "act_on_many_runs": ("run",),
    "act_on_notifications": ("notification",),
    "act_on_campaigns": ("campaign",),
    "act_on_templates": ("template_id",),
    "act_on_recipients": ("user_id",),
    "act_on_content": ("schedule",),
    "act_on_releases": ("release",),
    "create_notification": PEOPLE,
    "create_notifications": PEOPLE,
    "create_notification_schedule": PEOPLE,
    "create_campaign": PEOPLE,
    "preview_campaign": PEOPLE,
    "put_digest": PEOPLE,
    "add_digest_event": PEOPLE,
    "put_sequence": PEOPLE,
    "enter_sequence": ("sequence", *PEOPLE),
    "note_recipient_event": ("sequence", *PEOPLE),
    "preview_template": PEOPLE,
    "put_provider": ("secret",),
    "release_suppression": ("suppression",),
}

#: What users name has the same name in every world; with what makes it.
NAMES = {
    "queue": ("mail", "put_queue"),
    "secret": ("events", "put_secret"),
    "adapter": ("cms", "put_adapter"),
    "user_id": ("ann", "put_recipient"),
    "template_id": ("week", "put_template"),
    "segment": ("customers", "put_segment"),
    "audience": ("guests", "put_audience"),
    "digest": ("comments", "put_digest"),
    "sequence": ("onboarding", "put_sequence"),
    "provider": ("sms", "put_provider"),
}


async def _job(world: World) -> str:
    return await world.make("create_job", "job_id")


async def _run(world: World) -> str:
    return await world.make("run_job", "run_id")


async def _dead(world: World) -> str:
    job = decode_id("j", await world.id("job"))
    run = await world.make("run_job", "run_id")
    await world.store.execute(
        """with gone as (delete from sexton.runs where id = $1 returning *)
        insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at, due_at,
            revision, trigger, missed, attempt)
        select id, job_id, 'exhausted', $3, lane, priority, scheduled_at, due_at, 1, 'schedule', false, 3
        from gone where job_id = $2""",
        decode_id("r", run), job, world.mark,
    )  # fmt: skip
    return run


def named(kind: str) -> Callable[[World], Awaitable[str]]:
    """An object whose name its users give."""

    async def make(world: World) -> str:
        await world.make(NAMES[kind][1], "")
        return NAMES[kind][0]

    return make


def made(operation: str, found: str) -> Callable[[World], Awaitable[str]]:
    async def make(world: World) -> str:
        return await world.make(operation, found)

    return make


def plain(value: str) -> Callable[[World], Awaitable[str]]:
    """Not an object of its own."""

    async def make(world: World) -> str:
        return value

    return make


async def _namespace(world: World) -> str:
    return world.namespace


async def _entity(world: World) -> str:
    world.ids |= {"entity_type": "post", "entity_id": "42"}
    await world.make("put_entity", "")
    return "42"


async def _item(world: World) -> str:
    shown = await world.api("GET", f"/content/releases/{await world.id('release')}", headers=world.headers)
    return str(shown.json()["items"][0]["schedule_id"])


async def _suppression(world: World) -> str:
    world.ids |= {"channel": "email", "address": "ann@example.org"}
    await world.make("suppress", "")
    return "ann@example.org"


async def _inbox_item(world: World) -> str:
    """A message in the inbox of ann, as the channel in_app would have put it there."""
    await world.store.execute(
        """insert into sexton.inbox (namespace, user_id, key, message_id, parts, created_at, expires_at)
        values ($1, 'ann', 'k', $2, $3, now(), now() + interval '1 day')""",
        world.namespace,
        decode_id("n", await world.id("notification")),
        json.dumps({"title": world.mark}),
    )
    return ""


async def _inbox_token(world: World) -> str:
    await world.id("inbox_item")
    return await world.make("create_recipient_token", "token")


async def _link_token(world: World) -> str:
    await world.id("user_id")
    pepper = await read_pepper(world.store.database, SECRET_KEY)
    return seal_link(Unsubscription(world.namespace, 1, "email", "ann", None, None), pepper)


async def _erasure(world: World, one: Operation, path: str) -> Request:
    """An erasure needs a reason."""
    wish = {"action": "erase", "filter": {"ids": [await world.id("user_id")]}, "expected": 1}
    return Request(one.method, path, wish, None, {"Sexton-Reason": world.mark})


async def _node(world: World) -> str:
    await world.store.node()
    return "test"


#: How one of each kind is made.
MAKERS: dict[str, Callable[[World], Awaitable[str]]] = {
    "namespace": _namespace,
    "job": _job,
    "name": plain("shared"),
    "run": _run,
    "dead": _dead,
    "queue": named("queue"),
    "key": made("create_key", "key_id"),
    "secret": named("secret"),
    "worker": made("join_worker", "worker_id"),
    "node": _node,
    "session": plain("s_1"),
    "entity_type": plain("post"),
    "entity_id": _entity,
    "schedule": made("create_schedule", "schedule_id"),
    "window": made("create_window", "window_id"),
    "release": made("create_release", "release_id"),
    "item": _item,
    "feed": made("create_content_feed", "feed_id"),
    "feed_token": made("create_content_feed", "token"),
    "calendar_feed": made("create_feed_of_calendar", "feed_id"),
    "calendar_token": made("create_feed_of_calendar", "token"),
    "adapter": named("adapter"),
    "user_id": named("user_id"),
    "template_id": named("template_id"),
    "notification": made("create_notification", "notification_id"),
    "notification_schedule": made("create_notification_schedule", "schedule_id"),
    "segment": named("segment"),
    "audience": named("audience"),
    "campaign": made("create_campaign", "campaign_id"),
    "digest": named("digest"),
    "sequence": named("sequence"),
    "provider": named("provider"),
    "channel": plain("email"),
    "address": plain("ann@example.org"),
    "suppression": _suppression,
    "inbox_item": _inbox_item,
    "inbox_token": _inbox_token,
    "link_token": _link_token,
}


async def _reported(world: World, one: Operation, path: str) -> Request:
    """Signed by the provider."""
    number = decode_id("n", await world.id("notification"))
    await world.store.execute(
        "update sexton.messages set status = 'sent', provider = 'sms' where id = $1", number
    )
    body = json.dumps({"events": [{"event": "delivered", "key": await world.id("notification")}]}).encode()
    signed = signature_headers("m1", int(clock.now().timestamp()), body, [EVENTS_SECRET.encode()])
    headers = {**signed, "Content-Type": "application/json"}
    return Request(one.method, f"{path}?namespace={world.namespace}", None, body, headers)


async def _in_doubt(world: World, one: Operation, path: str) -> Request:
    """Of a message that may have gone out."""
    number = decode_id("n", path.split("/")[-2])
    await world.store.execute("update sexton.messages set status = 'unconfirmed' where id = $1", number)
    return Request(one.method, path)


async def _campaign_in_doubt(world: World, one: Operation, path: str) -> Request:
    """Of a campaign whose one message may have gone out."""
    number = decode_id("k", path.split("/")[-2])
    await world.store.execute(
        """with message as (
            insert into sexton.messages (namespace, campaign_id, user_id, channels, template_id,
                template_version, scheduled_at, submitted_at, status, created_at, created_by)
            select namespace, id, gen_random_uuid(), '{email}', 'week', 1, now(), now(), 'unconfirmed', now(),
                'ann'
            from sexton.campaigns where id = $1 returning id, campaign_id, namespace
        ), chunk as (
            insert into sexton.campaign_chunks (campaign_id, number, namespace, first_id, last_id, size,
                due_at, state, next_at, unconfirmed, changed_at)
            select campaign_id, id, namespace, id, id, 1, now(), 'done', now(), 1, now() from message
        )
        update sexton.campaigns set status = 'done', expanded_at = now() where id = $1""",
        number,
    )
    return Request(one.method, path)


async def _by_form(world: World, one: Operation, path: str) -> Request:
    return Request(one.method, path, None, b"List-Unsubscribe=One-Click", {"Content-Type": FORM})


async def _by_token(world: World, one: Operation, path: str) -> Request:
    """A report on a run, by what it was sent to."""
    run = decode_id("r", path.removeprefix(PREFIX).split("/")[2])
    assert run is not None
    rows = await world.store.fetch(
        """update sexton.runs set state = 'waiting', claim = 1, attempt = 1, claimed_at = clock_timestamp(),
            deadline_at = clock_timestamp() + interval '1 hour', node = coalesce(node, 1)
        where id = $1 returning id""",
        run,
    )
    token = await world.store.token(run) if rows else "1.0.none"
    body = {"error": world.mark} if one.name == "fail_run" else None
    return Request(one.method, path, body, None, {"Sexton-Run-Token": token})


async def _reports(world: World, one: Operation, path: str) -> Request:
    """On runs that its worker has claimed."""
    claimed = (await world.send("claim_runs")).json().get("runs", ())
    reports = [
        {"run_id": run["run_id"], "token": run["token"], "outcome": "success", "result": world.mark}
        for run in claimed
    ]
    return Request(one.method, path, {"reports": reports or [{"run_id": "r_zzzz", "token": "1.0.none"}]})


#: Requests that are more than an example.
PREPARED: dict[str, Callable[[World, Operation, str], Awaitable[Request]]] = {
    "act_on_recipients": _erasure,
    "take_provider_report": _reported,
    "resend_notification": _in_doubt,
    "confirm_notification": _in_doubt,
    "resend_campaign": _campaign_in_doubt,
    "confirm_campaign": _campaign_in_doubt,
    "unsubscribe_by_link": _by_form,
    "complete_run": _by_token,
    "fail_run": _by_token,
    "run_heartbeat": _by_token,
    "report_runs": _reports,
}


#: Tables that are of no namespace.
SHARED = {
    "migrations", "settings", "access_version", "namespaces", "sign_in_links", "sessions", "shards", "zones",
    "activity_mark", "audit_head", "requests", "nodes", "audit", "audit_pending",
}  # fmt: skip
#: What a request changes by itself.
PASSING = ["last_used_at"]
OF_A_RUN = """each.run_id in (
    select run.id from sexton.runs as run join sexton.jobs as job on job.id = run.job_id
    where job.namespace = $1
)"""


async def belongings(world: World) -> dict[str, Any]:
    """A hash of every table's rows of a namespace. A new table is told apart by a column."""
    store = world.store
    rows = await store.fetch(
        """select relname as name, array_agg(attname::text) as columns
        from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        where relnamespace = 'sexton'::regnamespace and relkind in ('r', 'p') and not relispartition
        group by relname order by relname"""
    )
    parts = []
    for row in rows:
        if row["name"] in SHARED:
            continue
        if "namespace" in row["columns"]:
            condition = "each.namespace = $1"
        elif "job_id" in row["columns"]:
            condition = "each.job_id in (select id from sexton.jobs where namespace = $1)"
        else:
            assert "run_id" in row["columns"], f"whose are the rows of {row['name']}?"
            condition = OF_A_RUN
        parts.append(
            f"""select '{row["name"]}' as name, md5(string_agg(kept::text, '' order by kept::text)) as hash
            from sexton.{row["name"]} as each, lateral (select to_jsonb(each) - $2::text[] as kept) as cut
            where {condition}"""
        )
    found = await store.fetch(" union all ".join(parts), world.namespace, PASSING)
    return {row["name"]: row["hash"] for row in found}
