-- Note that a slice of a campaign's audience is written, in the transaction that writes it.
update sexton.campaigns
set expanded_to = coalesce(:reached::bigint, expanded_to), chunks = chunks + :chunks, total = total + :total,
    skipped = skipped + :skipped, unknown = unknown + :unknown, duplicates = duplicates + :duplicates,
    incomplete = incomplete + :incomplete, unreachable = unreachable + :unreachable, zones = :zones::text::jsonb,
    looked_at = coalesce(:now::timestamptz, clock_timestamp()),
    expanded_at = case when :whole then coalesce(:now::timestamptz, clock_timestamp()) end
where id = :campaign_id and namespace = :namespace
