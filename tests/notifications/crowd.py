"""Recipients by the thousand and a template, put straight into the tables."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.jobs import state
from sexton.notifications.sending import wave
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command

# A dozen zones, from the first of the earth to the last; some change their clocks.
ZONES = (
    "Pacific/Kiritimati", "Pacific/Auckland", "Australia/Adelaide", "Asia/Tokyo", "Asia/Kathmandu",
    "Asia/Kolkata", "Europe/Berlin", "Europe/London", "UTC", "America/New_York", "America/St_Johns",
    "America/Los_Angeles", "Etc/GMT+12",
)  # fmt: skip
TEMPLATE = {"": {"email": {"subject": "Hello", "text": "Hello {{ recipient.user_id }}"}}}


async def add_recipients(
    database: Database,
    count: int,
    *,
    namespace: str = "default",
    zones: tuple[str, ...] = ("UTC",),
    prefix: str = "u",
    first: int = 1,
    **columns: Any,
) -> None:
    """`u1`, `u2`, …: the zones take turns."""
    own = {
        name: None if value is None else msgspec.json.encode(value).decode()
        for name, value in columns.items()
    }
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                """insert into sexton.recipients (
                    namespace, user_id, email, phone, timezone, fields, quiet_hours, opt_outs, caps,
                    created_at, updated_at
                )
                select $1, $2 || n, $2 || n || '@example.com', null,
                    ($3::text[])[1 + n % cardinality($3::text[])],
                    coalesce($6::jsonb, jsonb_build_object(
                        'n', n, 'country', case n % 2 when 0 then 'DE' else 'US' end
                    )),
                    $7::jsonb, $8::jsonb, $9::jsonb, clock_timestamp(), clock_timestamp()
                from generate_series($4::integer, $4::integer + $5::integer - 1) as n"""
            ),
            namespace,
            prefix,
            list(zones),
            first,
            count,
            own.get("fields"),
            own.get("quiet_hours"),
            own.get("opt_outs"),
            own.get("caps"),
        )


async def add_template(
    database: Database,
    name: str = "hello",
    *,
    namespace: str = "default",
    parts: Any = TEMPLATE,
    variables: Any = None,
) -> None:
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                """insert into sexton.templates (
                    namespace, template_id, version, created_by, created_at, updated_by, updated_at
                ) values ($1, $2, 1, 'tester', clock_timestamp(), 'tester', clock_timestamp())"""
            ),
            namespace,
            name,
        )
        await connection.execute(
            database.sql(
                """insert into sexton.template_versions (
                    namespace, template_id, version, parts, variables, created_by, created_at
                ) values ($1, $2, 1, $3::text::jsonb, $4::text::jsonb, 'tester', clock_timestamp())"""
            ),
            namespace,
            name,
            msgspec.json.encode(parts).decode(),
            msgspec.json.encode(variables or {}).decode(),
        )


@command
async def without_sweep(context: Context) -> None:
    """Let days pass quickly: the job that looks every minute for what was left behind is paused."""
    await wave.keep_jobs(context)
    await state.pause(context, wave.SWEEP)
