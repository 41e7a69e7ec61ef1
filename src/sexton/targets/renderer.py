"""Fills a target when a run is carried out: its templates from the run, and its secrets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from sexton.errors import SextonError, Unavailable
from sexton.model import Cancel, Failure, Outcome, Success
from sexton.postgres.database import Database
from sexton.security.binding import NOWHERE, Use, hosts_of
from sexton.security.placeholder import SecretRef
from sexton.security.secrets import SecretError, Secrets
from sexton.targets.base import Refused
from sexton.targets.run import RunContext, Step, describe
from sexton.targets.template import fill, names_wall_clock

ZONES = 10_000


class Renderer:
    """Fills in templates and secrets for the runs of a process."""

    def __init__(self, database: Database, secrets: Secrets) -> None:
        self.secrets = secrets
        self._database = database
        self._zones: dict[tuple[int, int], str] = {}
        self._namespaces: dict[int, str] = {}

    async def text(self, template: str | SecretRef, run: RunContext, use: Use = NOWHERE) -> str:
        """Fill the template, and insert secrets last: the payload is data, and never a placeholder."""
        if isinstance(template, SecretRef) or "{{" not in template:
            return await self.secrets.reveal(template, use)
        zone = await self._zone(run) if names_wall_clock(template) else "UTC"
        parts = template.split("${secret:")
        done = self._fill(parts[0], run, zone)
        for part in parts[1:]:
            name, _, rest = part.partition("}")
            done += await self.secrets.value(name, use) + self._fill(rest, run, zone)
        return done

    async def address(
        self, text: str | SecretRef, kind: str, run: RunContext, *, encode: bool = False
    ) -> str:
        """An address with its secrets inserted: those of the run's namespace."""
        return await self.secrets.address(text, kind, namespace=await self.namespace(run), encode=encode)

    async def use(self, run: RunContext, kind: str, url: str | None = None) -> Use:
        """How this run uses secrets: it sends them to the hosts of the address, if one is given."""
        hosts = () if url is None else hosts_of(url)
        return Use(kind, hosts, namespace=await self.namespace(run))

    async def namespace(self, run: RunContext) -> str:
        """The namespace of the run's job, which never changes. A claim does not read it, since few targets
        have secrets."""
        if run.namespace is not None:
            return run.namespace
        if run.job not in self._namespaces:
            if len(self._namespaces) >= ZONES:
                self._namespaces.clear()
            found = await self._database.fetchval("jobs/find_namespace", job_id=run.job)
            if found is None:
                raise SecretError("no_job", "its job is gone, and so are its secrets")
            self._namespaces[run.job] = found
        return self._namespaces[run.job]

    async def value(self, value: Any, run: RunContext, use: Use = NOWHERE) -> Any:
        """The same for every text inside a JSON value."""
        match value:
            case str():
                return await self.text(value, run, use)
            case list():
                return [await self.value(item, run, use) for item in value]
            case dict():
                return {name: await self.value(item, run, use) for name, item in value.items()}
        return value

    def guarded(self, step: Callable[[RunContext], Awaitable[Outcome]]) -> Step:
        """The step, with its errors as outcomes, and with secrets masked in every outcome."""

        async def carry_out(run: RunContext) -> Outcome:
            return self._mask(await outcome_of(step, run))

        return carry_out

    def _mask(self, outcome: Outcome) -> Outcome:
        match outcome:
            case Success(result) if result is not None:
                return Success(self.secrets.mask_all(result))
            case Failure(error):
                return msgspec.structs.replace(outcome, error=self.secrets.mask(error))
            case Cancel(reason):
                return Cancel(self.secrets.mask(reason))
        return outcome

    def _fill(self, template: str, run: RunContext, zone: str) -> str:
        return fill(
            template, run_names(run), scheduled_at=run.scheduled_at, timezone=zone, payload=run.payload
        )

    async def _zone(self, run: RunContext) -> str:
        """The zone of the run's job. A claim does not read it, since few targets need it."""
        key = (run.job, run.revision)
        if key not in self._zones:
            if len(self._zones) >= ZONES:
                self._zones.clear()
            zone = await self._database.fetchval(
                "zones/find_of_revision", job_id=run.job, revision=run.revision
            )
            self._zones[key] = zone or "UTC"
        return self._zones[key]


async def outcome_of(step: Callable[[RunContext], Awaitable[Outcome]], run: RunContext) -> Outcome:
    """The outcome of the step; an error leads to a retry, unless it is a refusal."""
    try:
        return await step(run)
    except Refused as error:
        return Failure(str(error), permanent=True)
    except Unavailable:
        raise
    except SecretError as error:
        # Setting the secret repairs it, without an edit of the job.
        return Failure(str(error))
    except SextonError as error:
        return Failure(str(error), permanent=True)
    except TimeoutError as error:
        return Failure(f"timeout: {error}" if str(error) else "timeout", kind="timeout")
    except Exception as error:
        return Failure(describe(error))


def run_names(run: RunContext) -> dict[str, str]:
    """The names of a run for the templates of targets."""
    return {
        "job_id": run.job_id,
        "job_name": run.job_name,
        "run_id": run.run_id,
        "attempt": str(run.attempt),
        "trigger": str(run.trigger),
        "idempotency_key": run.idempotency_key,
    }
