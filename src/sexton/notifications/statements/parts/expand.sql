-- Expects `slice`, and `picked` (place, user_id, zone, own_vars, complete, reachable): recipients of a campaign, at most one slice. They get their rows
-- in the ledger, in the order of their times, and those of one time become chunks. If one of their zones has no time in :zones yet,
-- nothing is written, and `strangers` names it.
timed as materialized (
    select picked.*, zone.name is not null as known, zone.due_at, zone.timing
    from picked
    left join (
        select unnest(:zones::text[]) as name, unnest(:due::timestamptz[]) as due_at, unnest(:timings::text[])::jsonb as timing
    ) as zone on zone.name = picked.zone
),
stranger as materialized (
    select distinct timed.zone from timed where not timed.known
),
written as (
    insert into sexton.messages (
        namespace, campaign_id, user_id, channels, template_id, template_version, vars, topic, urgency, scheduled_at, local_time,
        timezone, timing, due_at, expires_at, status, failure_reason, max_retries, retry_seconds, settled_at, created_at, created_by
    )
    select :namespace, :campaign_id, timed.user_id, :channels::text[], :template_id, :template_version::integer,
        case when timed.own_vars is not null then coalesce(:vars::text::jsonb, '{}') || timed.own_vars end,
        :topic, :urgency, coalesce(timed.due_at, :armed_at::timestamptz), :local_time::timestamp, timed.zone, timed.timing,
        timed.due_at, timed.due_at + make_interval(secs => :expires_seconds::integer),
        case when timed.due_at is null then 'suppressed' else 'pending' end,
        case when timed.due_at is null then 'its local time was over when the campaign was started' end,
        :max_retries::smallint, :retry_seconds::integer, case when timed.due_at is null then moment.now end, moment.now, :created_by
    from timed
    cross join (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
    where not exists (select from stranger)
    order by timed.due_at, timed.place
    on conflict (campaign_id, user_id) where campaign_id is not null do nothing
    returning id, due_at, timezone
),
numbered as (
    select written.id, written.due_at,
        (row_number() over (partition by written.due_at order by written.id) - 1) / :chunk_size::integer as part
    from written
    where written.due_at is not null
),
chunked as (
    insert into sexton.campaign_chunks (
        campaign_id, number, namespace, first_id, last_id, size, due_at, next_at, changed_at
    )
    select :campaign_id, :first_number::integer + row_number() over (order by numbered.due_at, numbered.part)::integer - 1, :namespace,
        min(numbered.id), max(numbered.id), count(*), numbered.due_at, numbered.due_at, coalesce(:now::timestamptz, clock_timestamp())
    from numbered
    group by numbered.due_at, numbered.part
    returning number
)
select
    (select array_agg(stranger.zone) from stranger) as strangers,
    (select count(*) from written) as total,
    (select count(*) from written where written.due_at is null) as skipped,
    (select count(*) from timed) - (select count(*) from written) as duplicates,
    (select count(*) from timed where not timed.complete) as incomplete,
    (select count(*) from timed where not timed.reachable) as unreachable,
    (select count(*) from chunked) as chunks,
    (
        select jsonb_object_agg(found.timezone, found.count)
        from (select written.timezone, count(*) as count from written group by written.timezone) as found
    ) as zones,
    (select max(slice.place) from slice) as reached,
    (select count(*) from slice) as looked_at,
