-- Messages and their timers. Their numbers are in the order of the lines.
with line as materialized (
    select nextval('sexton.message_ids') as id, *
    from unnest(
        :user_ids::text[], :addresses::text[], :channels::text[], :afters::text[], :unlesses::text[], :template_ids::text[],
        :template_versions::int[], :vars::text[], :topics::text[], :urgencies::text[], :scheduled_ats::timestamptz[],
        :local_times::timestamp[], :timezones::text[], :timings::text[], :due_ats::timestamptz[],
        :expires_ats::timestamptz[], :max_retries::smallint[], :retry_seconds::int[]
    ) with ordinality as given (
        user_id, address, channels, after, unless, template_id, template_version, vars, topic, urgency, scheduled_at,
        local_time, timezone, timing, due_at, expires_at, max_retries, retry_seconds, place
    )
),
made as (
    insert into sexton.messages (
        id, namespace, schedule_id, digest_id, sequence_id, user_id, address, channels, channel_after_seconds,
        channel_unless, template_id, template_version, vars, topic, urgency, scheduled_at, local_time, timezone, timing,
        due_at, expires_at, max_retries, retry_seconds, created_at, created_by
    )
    select id, :namespace, :schedule_id::bigint, :digest_id::bigint, :sequence_id::bigint, user_id, address::jsonb,
           string_to_array(channels, ','), string_to_array(after, ',')::int[], string_to_array(unless, ','), template_id,
           template_version, vars::jsonb, topic, urgency, scheduled_at, local_time, timezone, timing::jsonb, due_at,
           expires_at, max_retries, retry_seconds, :now::timestamptz, :actor
    from line
),
timed as (
    insert into sexton.message_timers (namespace, message_id, due_at)
    select :namespace, id, due_at from line
)
select id from line order by place
