-- Which of these (run, claim) have ended already: what a worker asks when the answer to its finish was lost.
select history.run_id, history.status
from unnest($1::bigint[], $2::integer[]) as mine (id, claim)
join sexton.history as history on history.run_id = mine.id and history.claim = mine.claim and history.node = $3
where history.recorded_at > coalesce($4::timestamptz, statement_timestamp()) - interval '1 day'
