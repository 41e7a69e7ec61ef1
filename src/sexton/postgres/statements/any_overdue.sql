-- Whether overdue would find something. $1 now
select exists (
    select from sexton.runs
    where state = 'waiting' and deadline_at <= coalesce($1::timestamptz, clock_timestamp())
) or exists (select from sexton.runs where cancel_requested_at is not null and state = 'waiting') as found
