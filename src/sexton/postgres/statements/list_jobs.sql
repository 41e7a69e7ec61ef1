-- Ids of jobs in the order in which they were made. $1 namespace, $2 after this id; filters, or null: $3 status,
-- $4 label, $5 its value, $6 name, $7 beginning of the name, $8 kind of target, $9 handler, $10 app; $11 limit.
-- Deleted jobs are listed only when asked for.
select id
from sexton.jobs
where namespace = $1 and id > $2
  and case when $3::text is null then status <> 'deleted' else status = $3 end
  and ($4::text is null or (labels ? $4 and ($5::text is null or labels ->> $4 = $5)))
  and ($6::text is null or name = $6)
  and ($7::text is null or starts_with(name, $7))
  and ($8::text is null or target ? $8)
  and ($9::text is null or target ->> 'handler' = $9)
  and ($10::text is null or app = $10)
order by id
limit $11
