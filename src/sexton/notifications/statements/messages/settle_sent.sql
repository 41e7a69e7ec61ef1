-- A provider has accepted these, and nothing is left to do. `is not distinct from`: they are found by their ids, and not by the run, which
-- has far more of them.
with untimed as (
    delete from sexton.message_timers where message_id = any (:ids::text::bigint[]) and run_id is not distinct from :run_id::bigint
)
update sexton.messages
set status = 'sent', sent_at = :now::timestamptz, settled_at = :now::timestamptz, provider = :provider,
    failure_reason = null, hold_reason = null
where namespace = :namespace
    and id = any (:ids::text::bigint[])
    and run_id = :run_id::bigint
    and submitted_at = :submitted_at::timestamptz
    and status = 'processing'
