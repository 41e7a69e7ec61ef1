-- Add the results of a batch to the counts of its chunk; the counts are renewed when the chunk closes.
update sexton.campaign_chunks
set sent = sent + :sent, failed = failed + :failed, suppressed = suppressed + :suppressed, expired = expired + :expired,
    unconfirmed = unconfirmed + :unconfirmed, changed_at = coalesce(:now::timestamptz, clock_timestamp())
where campaign_id = :campaign_id and namespace = :namespace and number = :number
