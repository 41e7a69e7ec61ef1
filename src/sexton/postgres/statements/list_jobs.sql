-- Ids of jobs in the order in which they were made. $1 namespace, $2 after this id; filters, or null: $3 status,
-- $4 name of a label, $5 labels with their values, $6 name, $7 a pattern of names, $8 kind of target, $9 handler, $10 app,
-- $11 true: only those that are set aside; $12 limit. Deleted jobs are listed only when asked for.
-- Planned anew for every call, so that only the filters that are given count, and each finds its index.
select id
from sexton.jobs
where namespace = $1 and id > $2
  and case when $3::text is null then status <> 'deleted' else status = $3 end
  and ($4::text is null or (labels is not null and labels ? $4))
  and ($5::jsonb is null or (labels is not null and labels @> $5))
  and ($6::text is null or name = $6)
  and ($7::text is null or name like $7)
  and case when $8::text is null then true
           when $8 = 'handler' then coalesce(target ->> 'handler', '') > ''
           else coalesce(target ->> 'handler', '') = '' and target ? $8 end
  and ($9::text is null or coalesce(target ->> 'handler', '') = $9)
  and ($10::text is null or app = $10)
  and (not $11::boolean or id = any (array(select problem.job_id from sexton.problems as problem)))
  and (not $11::boolean or exists (
      select from sexton.problems as problem where problem.job_id = jobs.id and problem.revision = jobs.revision
  ))
order by id
limit $12
