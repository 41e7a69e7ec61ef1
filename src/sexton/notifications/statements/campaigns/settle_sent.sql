-- A provider has accepted these messages of a chunk, whose mark was taken away before.
update sexton.messages
set status = 'sent', due_at = null, run_id = :run_id::bigint, submitted_at = :submitted_at::timestamptz,
    sent_at = :now::timestamptz, settled_at = :now::timestamptz, provider = :provider, failure_reason = null, hold_reason = null
where namespace = :namespace
    and id = any (:ids::text::bigint[])
    and campaign_id is not distinct from :campaign_id
    and status in ('pending', 'held')
