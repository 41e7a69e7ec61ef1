"""Checks of the contract of adapters: the same for Sexton's own and for yours.

    class Shop(AdapterSubject):
        adapter = ShopAdapter(ShopConfig(url=…), services)
        absent = Entity("product", "none")

        async def make(self):
            return Entity("product", await shop.create_draft())

    @pytest.mark.parametrize("check", ADAPTER_CHECKS)
    async def test_contract(check):
        await check(Shop())

`check_adapter(subject)` makes all checks in order. A check raises `AssertionError` with what is wrong.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.model import AFTER, Action, Applied, ContentChange, Entity, EntityState, Standing
from sexton.postgres.transaction import Context
from sexton.testing.checks import check_all

AT = datetime(2027, 3, 1, 9, tzinfo=UTC)
#: Above every version that an entity of a test has.
NO_VERSION = 2**31 - 1
NOT_OUT = (EntityState.DRAFT, EntityState.UNPUBLISHED)


class AdapterSubject(ABC):
    """An adapter under test, and how its entities are made."""

    adapter: Adapter
    context: Context
    #: An entity that does not exist, of a type that does.
    absent: Entity
    #: What the adapter can do.
    actions: frozenset[Action] = frozenset(Action)

    def __init__(self) -> None:
        self._keys = count()

    @abstractmethod
    async def make(self) -> Entity:
        """A new entity that is not published."""

    async def edit(self, entity: Entity) -> int | None:
        """Make another version of an entity, without publishing it; its number. None: the adapter cannot
        publish a given version."""
        return None

    async def apply(self, change: ContentChange) -> Applied:
        """Make the change: in a transaction if the adapter is transactional, as a worker does."""
        if not self.adapter.transactional:
            return await self.adapter.apply(self.context, change)
        async with self.context.database.transaction() as connection:
            return await self.adapter.apply(replace(self.context, connection=connection), change)

    def change(self, entity: Entity, action: Action, version: int | None = None) -> ContentChange:
        return ContentChange(
            namespace=self.context.namespace,
            entity=entity,
            action=action,
            version=version,
            key=f"check:{next(self._keys)}",
            scheduled_at=AT,
            actor="tester",
        )

    async def act(self, entity: Entity, action: Action, version: int | None = None) -> Applied:
        return await self.apply(self.change(entity, action, version))

    async def standing(self, entity: Entity) -> Standing:
        found = (await self.adapter.state(self.context, [entity])).get(entity)
        assert found is not None, f"state() leaves {entity} out, though it exists"
        return found


async def a_new_entity_is_not_out(subject: AdapterSubject) -> None:
    entity = await subject.make()
    state = (await subject.standing(entity)).state
    assert state in NOT_OUT, f"state() says that {entity} is {state} before anything was done"


async def states_of_many_are_told_apart(subject: AdapterSubject) -> None:
    out, draft = await subject.make(), await subject.make()
    await subject.act(out, Action.PUBLISH)
    found = await subject.adapter.state(subject.context, [draft, subject.absent, out])
    assert set(found) == {draft, out}, f"state() of {draft}, {subject.absent} and {out} has {sorted(found)}"
    assert found[out].state == EntityState.PUBLISHED, f"{out} was published, and is {found[out].state}"
    assert found[draft].state in NOT_OUT, f"{draft} was not published, and is {found[draft].state}"
    assert await subject.adapter.state(subject.context, []) == {}, "state() of nothing is not empty"


async def an_action_has_its_effect_once(subject: AdapterSubject) -> None:
    """Also with another key: an editor may have been faster."""
    entity = await subject.make()
    for action in (Action.PUBLISH, Action.UNPUBLISH, Action.PUBLISH, Action.ARCHIVE):
        if action not in subject.actions:
            continue
        first = await subject.act(entity, action)
        assert first.effect == "changed", f"{action} of {entity} was {first.effect}, not changed"
        await _stands_after(subject, entity, action, first)
        again = await subject.act(entity, action)
        assert again.effect == "no_op", f"a second {action} of {entity} was {again.effect}, not no_op"
        await _stands_after(subject, entity, action, again)


async def the_same_change_twice_is_once(subject: AdapterSubject) -> None:
    """As after a worker that died before it could record the result."""
    entity = await subject.make()
    change = subject.change(entity, Action.PUBLISH)
    effects = [(await subject.apply(change)).effect for _ in range(3)]
    assert effects[0] == "changed", f"the first publish of {entity} was {effects[0]}"
    assert set(effects[1:]) == {"no_op"}, f"the same publish of {entity} again was {effects[1:]}"


async def two_workers_at_once_do_no_harm(subject: AdapterSubject) -> None:
    """A worker that was declared dead may continue beside the worker that took its run over."""
    entity = await subject.make()
    change = subject.change(entity, Action.PUBLISH)
    done = await asyncio.gather(*(subject.apply(change) for _ in range(2)), return_exceptions=True)
    succeeded = [each for each in done if isinstance(each, Applied)]
    permanent = [each for each in done if isinstance(each, NotPossible)]
    assert succeeded, f"two publish of {entity} at once both failed: {done}"
    assert not permanent, f"two publish of {entity} at once: one failed for good: {permanent}"
    await _stands_after(subject, entity, Action.PUBLISH, succeeded[0])


async def what_is_absent_fails_for_good(subject: AdapterSubject) -> None:
    change = subject.change(subject.absent, Action.PUBLISH)
    await _is_refused(subject, change)
    findings = await subject.adapter.check(subject.context, [change])
    codes = [finding.code for finding in findings if not finding.warning]
    assert codes == ["no_entity"], f"check() of {subject.absent} found {codes}, not no_entity"


async def what_is_archived_is_not_lost(subject: AdapterSubject) -> None:
    """Publishing it either works or is refused for good; it never succeeds without publishing."""
    if Action.ARCHIVE not in subject.actions:
        return
    entity = await subject.make()
    await subject.act(entity, Action.ARCHIVE)
    state = (await subject.standing(entity)).state
    assert state == EntityState.ARCHIVED, f"{entity} was archived, and is {state}"
    change = subject.change(entity, Action.PUBLISH)
    findings = await subject.adapter.check(subject.context, [change])
    try:
        done = await subject.apply(change)
    except NotPossible:
        codes = [finding.code for finding in findings]
        assert codes == ["archived"], f"publish of an archived {entity} is refused, and check() found {codes}"
        return
    assert not findings, f"publish of an archived {entity} works, and check() found {findings}"
    await _stands_after(subject, entity, Action.PUBLISH, done)


async def what_cannot_be_done_is_said_before(subject: AdapterSubject) -> None:
    entity = await subject.make()
    for action in Action:
        change = subject.change(entity, action)
        findings = await subject.adapter.check(subject.context, [change])
        if action in subject.actions:
            assert not findings, f"check() of a possible {action} of {entity} found {findings}"
            continue
        codes = [finding.code for finding in findings]
        assert codes == ["no_action"], f"check() of {action} found {codes}, not no_action"
        await _is_refused(subject, change)
    state = (await subject.standing(entity)).state
    assert state in NOT_OUT, f"check() has changed {entity}: it is {state}"


async def a_given_version_goes_out(subject: AdapterSubject) -> None:
    entity = await subject.make()
    first = await subject.edit(entity)
    if first is None:
        change = subject.change(entity, Action.PUBLISH, 1)
        findings = [finding.code for finding in await subject.adapter.check(subject.context, [change])]
        assert findings == ["no_version"], f"check() of a version it cannot publish found {findings}"
        await _is_refused(subject, change)
        return
    second = await subject.edit(entity)
    assert second is not None, f"edit() of {entity} made a version once, and none the second time"
    for version in (first, second, first):
        for effect in ("changed", "no_op"):
            done = await subject.act(entity, Action.PUBLISH, version)
            assert done.effect == effect, f"publish of version {version} was {done.effect}, not {effect}"
            assert done.version == version, f"publish of version {version} says version {done.version}"
        await _stands_after(subject, entity, Action.PUBLISH, done)


async def a_version_that_is_not_there_fails_for_good(subject: AdapterSubject) -> None:
    entity = await subject.make()
    if await subject.edit(entity) is None:
        return
    change = subject.change(entity, Action.PUBLISH, NO_VERSION)
    await _is_refused(subject, change)
    codes = [finding.code for finding in await subject.adapter.check(subject.context, [change])]
    assert codes == ["no_version"], f"check() of a version that is not there found {codes}, not no_version"


async def closing_twice_is_harmless(subject: AdapterSubject) -> None:
    await subject.standing(await subject.make())
    await subject.adapter.close()
    await subject.adapter.close()


#: Each builds on those before it; the last one closes the adapter.
ADAPTER_CHECKS: tuple[Callable[[AdapterSubject], Awaitable[None]], ...] = (
    a_new_entity_is_not_out,
    states_of_many_are_told_apart,
    an_action_has_its_effect_once,
    the_same_change_twice_is_once,
    two_workers_at_once_do_no_harm,
    what_is_absent_fails_for_good,
    what_is_archived_is_not_lost,
    what_cannot_be_done_is_said_before,
    a_given_version_goes_out,
    a_version_that_is_not_there_fails_for_good,
    closing_twice_is_harmless,
)


async def check_adapter(subject: AdapterSubject) -> None:
    """Make every check. What is wrong is raised as one `ExceptionGroup`, each with the name of its check."""
    await check_all(subject, ADAPTER_CHECKS, type(subject.adapter).__name__)


async def _stands_after(subject: AdapterSubject, entity: Entity, action: Action, done: Applied) -> None:
    """The answer must match the state."""
    state = (await subject.standing(entity)).state
    wanted = NOT_OUT if action == Action.UNPUBLISH else (AFTER[action],)
    assert state in wanted, f"{entity} is {state} after {action}"
    assert done.state_after == state, f"{action} of {entity} says {done.state_after}, and it is {state}"


async def _is_refused(subject: AdapterSubject, change: ContentChange) -> None:
    try:
        done = await subject.apply(change)
    except NotPossible:
        return
    raise AssertionError(
        f"{change.action} of {change.entity} (version {change.version}) was {done.effect}; "
        "NotPossible was to be raised"
    )
