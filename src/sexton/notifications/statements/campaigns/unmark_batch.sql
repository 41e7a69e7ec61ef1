-- Take the mark of a run from its chunk, and count what became of the messages; no row: another run has taken the chunk, and has settled them.
update sexton.campaign_chunks
set marked_run = null, marked_after = null, marked_to = null, marked_at = null,
    sent = sent + :sent, failed = failed + :failed, suppressed = suppressed + :suppressed, expired = expired + :expired,
    unconfirmed = unconfirmed + :unconfirmed, changed_at = coalesce(:now::timestamptz, clock_timestamp())
where campaign_id = :campaign_id and namespace = :namespace and number = :number and state = 'open'
    and marked_run = :run_id and marked_at = :marked_at::timestamptz
returning number
