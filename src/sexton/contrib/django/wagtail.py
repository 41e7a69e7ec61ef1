"""Pages and snippets of the Wagtail site of this process.

It calls Wagtail's own actions, in a thread and in one transaction of the site's database: the object is
locked and changed, and the key of the occurrence is recorded in Wagtail's history of the object. A retry
finds the key, and keeps what an editor has changed since. An object is archived if it was unpublished with
that record: Wagtail has no such state of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

from django.apps import apps  # type: ignore[import-untyped]
from django.core.exceptions import ValidationError  # type: ignore[import-untyped]
from django.db import close_old_connections, router, transaction  # type: ignore[import-untyped]
from django.utils import timezone  # type: ignore[import-untyped]

from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.model import Action, Applied, ContentChange, ContentFinding, Entity, EntityState, Standing
from sexton.contrib.django.project import app
from sexton.postgres.transaction import NAMESPACE, Context

# After the project, which sets Django up if necessary: models cannot be imported before.
# isort: split
from wagtail.actions.publish_page_revision import PublishPageRevisionAction  # type: ignore[import-not-found]
from wagtail.actions.publish_revision import PublishRevisionAction  # type: ignore[import-not-found]
from wagtail.log_actions import log, registry  # type: ignore[import-not-found]
from wagtail.models import DraftStateMixin, Page  # type: ignore[import-not-found]

from sexton.clock import iso

Given = ParamSpec("Given")
Result = TypeVar("Result")

PAGE = "page"
#: The actions of Sexton in Wagtail's history of an object; `wagtail_hooks` has their labels.
NOTED = {action: f"sexton.{action.value}" for action in Action}


class NotAsAsked(Exception):
    """Wagtail has carried an action out, but the object is not in the expected state: the action is
    retried."""


class WagtailAdapter(Adapter):
    """`page` and the number of a page, or `app.model` and the primary key of a snippet with drafts. A version
    is the number of a revision."""

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        if not _is_own(context.namespace):
            return {}
        return await _in_thread(_states, list(dict.fromkeys(entities)))

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        if not _is_own(change.namespace):
            raise NotPossible(f"there is no {change.entity} in the namespace {change.namespace}")
        return await _in_thread(_apply, change)

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        if not _is_own(context.namespace):
            return [_absent(change.entity) for change in changes]
        return await _in_thread(lambda: [found for change in changes for found in _check(change)])

    async def close(self) -> None:
        """Do nothing: the connections belong to Django."""


async def _in_thread(function: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Call a function in a thread, because Django's ORM blocks. Its connections belong to the thread; broken
    ones are closed."""

    def call() -> Result:
        close_old_connections()
        try:
            return function(*given, **named)
        finally:
            close_old_connections()

    return await asyncio.to_thread(call)


def _is_own(namespace: str) -> bool:
    """A site belongs to the namespace of its project: other namespaces must neither see nor change it."""
    return namespace == (app.settings.namespace or NAMESPACE)


def _states(entities: Sequence[Entity]) -> dict[Entity, Standing]:
    found = {entity: _find(entity) for entity in entities}
    return {entity: _standing(each) for entity, each in found.items() if isinstance(each, DraftStateMixin)}


def _apply(change: ContentChange) -> Applied:
    model = _model(change.entity.type)
    if model is None:
        raise NotPossible(_absent(change.entity).message)
    try:
        with transaction.atomic(using=router.db_for_write(model)):
            return _apply_to(_find(change.entity, lock=True), change)
    except ValidationError as error:
        raise NotPossible(f"Wagtail refuses {change.entity}: {'; '.join(error.messages)}") from error


def _apply_to(found: Any, change: ContentChange) -> Applied:
    if found is None:
        raise NotPossible(_absent(change.entity).message)
    if (obstacle := _obstacle(found, change)) is not None:
        raise NotPossible(obstacle.message)
    before = _standing(found)
    if _is_noted(found, change.key):
        return _applied("no_op", before, before, change)
    if before.state == EntityState.ARCHIVED and change.action != Action.ARCHIVE:
        raise NotPossible(f"{change.entity} is archived")
    revision = _revision(found, change)
    if _is_so(found, before, revision, change):
        return _applied("no_op", before, before, change)
    match change.action:
        case Action.PUBLISH:
            revision = revision or found.save_revision()
            _publish(found, revision)
        case Action.UNPUBLISH:
            found.unpublish()
        case Action.ARCHIVE:
            found.unpublish()
            # Otherwise Wagtail's own scheduler would publish it again.
            found.revisions.update(approved_go_live_at=None)
    log(
        instance=found,
        action=NOTED[change.action],
        revision=revision,
        data={"key": change.key, "actor": change.actor, "scheduled_at": iso(change.scheduled_at)},
    )
    after = _standing(_find(change.entity))
    if not _is_done(after, revision, change):
        raise NotAsAsked(f"Wagtail was asked to {change.action} {change.entity}, but it is {after.state}")
    return _applied("changed", before, after, change)


def _check(change: ContentChange) -> Iterator[ContentFinding]:
    entity, found = change.entity, _find(change.entity)
    if found is None:
        yield _absent(entity)
        return
    if (obstacle := _obstacle(found, change)) is not None:
        yield obstacle
        return
    if _standing(found).state == EntityState.ARCHIVED and change.action != Action.ARCHIVE:
        yield ContentFinding(entity, "archived", f"{entity} is archived")
        return
    for text in _own_schedule(found, entity, _revision(found, change)):
        yield ContentFinding(entity, "own_schedule", text, warning=True)


def _model(type_: str) -> Any | None:
    """The model of an entity type; None: the site has none of that name. Each model has one name, so that
    plans for the same entity are recognised: pages of all kinds are `page`."""
    if type_ == PAGE:
        return Page
    label, dot, name = type_.partition(".")
    try:
        model = apps.get_model(label, name) if dot else None
    except LookupError:
        return None
    named_so = model is not None and model._meta.label_lower == type_ and not issubclass(model, Page)
    return model if named_so else None


def _find(entity: Entity, *, lock: bool = False) -> Any | None:
    """The object; a page as its specific type. None: there is none."""
    model = _model(entity.type)
    if model is None:
        return None
    try:
        key = model._meta.pk.to_python(entity.id)
    except ValidationError:
        return None
    if str(key) != entity.id:
        return None  # such as 007, which would be another entity than 7
    objects = model._base_manager.using(router.db_for_write(model))
    found = (objects.select_for_update() if lock else objects).filter(pk=key).first()
    return found.specific if isinstance(found, Page) else found


def _obstacle(found: Any, change: ContentChange) -> ContentFinding | None:
    """Why the action can never be carried out on this object."""
    entity = change.entity
    if not isinstance(found, DraftStateMixin):
        text = f"{entity.type} has no drafts: give its model wagtail.models.DraftStateMixin and RevisionMixin"
        return ContentFinding(entity, "no_action", text)
    if getattr(found, "alias_of_id", None) is not None:
        text = f"{entity} is an alias, and follows page/{found.alias_of_id}: plan it for that page"
        return ContentFinding(entity, "no_action", text)
    if isinstance(found, Page) and found.is_root():
        return ContentFinding(entity, "no_action", f"{entity} is the root of all pages, which has no state")
    if change.action == Action.PUBLISH and change.version is not None and _revision(found, change) is None:
        return ContentFinding(entity, "no_version", f"{entity} has no revision {change.version}")
    return None


def _revision(found: Any, change: ContentChange) -> Any | None:
    """The revision to publish: the given one, or the latest; None if there is none."""
    if change.action != Action.PUBLISH:
        return None
    if change.version is None:
        return found.latest_revision
    return found.revisions.filter(pk=change.version).first()


def _standing(found: Any) -> Standing:
    if found.live:
        state = EntityState.PUBLISHED
    elif _is_archived(found):
        state = EntityState.ARCHIVED
    else:
        state = EntityState.DRAFT if found.first_published_at is None else EntityState.UNPUBLISHED
    return Standing(state, found.live_revision_id if found.live else None, found.latest_revision_id)


def _is_archived(found: Any) -> bool:
    """Archived objects stay archived until they are published again, which an editor may do in Wagtail."""
    noted = _history(found).filter(action=NOTED[Action.ARCHIVE]).first()
    return noted is not None and (
        found.last_published_at is None or found.last_published_at < noted.timestamp
    )


def _is_noted(found: Any, key: str) -> bool:
    """Whether the last change by Sexton had this key. After an undo it has not: an undone change may be
    repeated."""
    last = _history(found).filter(action__in=NOTED.values()).first()
    return last is not None and bool(key) and last.data.get("key") == key


def _history(found: Any) -> Any:
    return registry.get_logs_for_instance(found).order_by("-timestamp", "-pk")


def _is_so(found: Any, before: Standing, revision: Any | None, change: ContentChange) -> bool:
    match change.action:
        case Action.PUBLISH:
            latest = change.version is None and not found.has_unpublished_changes
            return found.live and (latest or revision is None or found.live_revision_id == revision.pk)
        case Action.UNPUBLISH:
            return not found.live
    return before.state == EntityState.ARCHIVED


def _publish(found: Any, revision: Any) -> None:
    """Publish now, ignoring times in the revision for Wagtail's own scheduler that would prevent it."""
    kind = PublishPageRevisionAction if isinstance(found, Page) else PublishRevisionAction
    action = kind(revision)
    now = timezone.now()
    if action.object.go_live_at is not None and action.object.go_live_at > now:
        action.object.go_live_at = None
    if action.object.expire_at is not None and action.object.expire_at <= now:
        action.object.expire_at = None
    action.execute(skip_permission_checks=True)


def _is_done(after: Standing, revision: Any | None, change: ContentChange) -> bool:
    match change.action:
        case Action.PUBLISH:
            wanted = None if revision is None else revision.pk
            return after.state == EntityState.PUBLISHED and after.published_version == wanted
        case Action.UNPUBLISH:
            return after.state in (EntityState.DRAFT, EntityState.UNPUBLISHED)
    return after.state == EntityState.ARCHIVED


def _own_schedule(found: Any, entity: Entity, revision: Any | None) -> Iterator[str]:
    """What Wagtail's own scheduler will do with the object."""
    held, then = found.scheduled_revision, found if revision is None else revision.as_object()
    if held is not None:
        yield (
            f"Wagtail itself will publish revision {held.pk} of {entity} at {_utc(held.approved_go_live_at)}"
        )
    elif revision is not None and then.go_live_at is not None and then.go_live_at > timezone.now():
        yield (
            f"revision {revision.pk} of {entity} has the time {_utc(then.go_live_at)} (go_live_at);"
            " it goes out at Sexton's time"
        )
    if then.expire_at is not None and (revision is not None or found.live):
        yield f"Wagtail itself will unpublish {entity} at {_utc(then.expire_at)} (expire_at)"


def _utc(moment: datetime) -> str:
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment)
    return iso(moment, "seconds").replace("T", " ")


def _absent(entity: Entity) -> ContentFinding:
    text = f"there is no {entity}"
    if _model(entity.type) is None:
        text = f"{text}: write page, or a snippet as app.model in small letters, such as shop.banner"
    return ContentFinding(entity, "no_entity", text)


def _applied(effect: str, before: Standing, after: Standing, change: ContentChange) -> Applied:
    version = after.published_version if change.action == Action.PUBLISH else None
    return Applied(effect=effect, state_before=before.state, state_after=after.state, version=version)
