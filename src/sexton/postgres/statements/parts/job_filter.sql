-- The filters of a list of jobs. Expects sexton.jobs and a condition before it. A filter that is null does not apply: `label` is the name of a
-- label, `labels` are labels with their values, `pattern` is for names, `kind` is that of the target, `full_name` is a handler with its
-- application; `search` is a tsquery for words of name, owner and description; `ids` are ids of jobs; `problem` leaves only jobs that are set
-- aside. Deleted jobs match only when their status is asked for. A job that no longer fires is active until its last run has ended.
-- Planned anew for every call, so that only the given filters count, and each finds its index.
  and namespace = :namespace
  and case when :status::text is null then status <> 'deleted'
           when :status = 'active' then status = 'active' or (status = 'completed' and exists (
               select from sexton.runs as run where run.job_id = jobs.id and run.trigger in ('schedule', 'catch_up')
           ))
           when :status = 'completed' then status = 'completed' and not exists (
               select from sexton.runs as run where run.job_id = jobs.id and run.trigger in ('schedule', 'catch_up')
           )
           else status = :status end
  and (:label::text is null or (labels is not null and labels ? :label))
  and (:labels::jsonb is null or (labels is not null and labels @> :labels))
  and (:name::text is null or name = :name)
  and (:pattern::text is null or name like :pattern)
  and case when :kind::text is null then true
           when :kind = 'handler' then regexp_replace(coalesce(target ->> 'handler', ''), '^[^:]*:', '') > ''
           else regexp_replace(coalesce(target ->> 'handler', ''), '^[^:]*:', '') = '' and target ? :kind end
  and (:handler::text is null or regexp_replace(coalesce(target ->> 'handler', ''), '^[^:]*:', '') = :handler)
  and (:full_name::text is null or target ->> 'handler' = :full_name)
  and (:app::text is null or app = :app)
  and (:search::text is null or sexton.words_of(jobs.name, jobs.owner, jobs.description) @@ :search::tsquery)
  and (:ids::bigint[] is null or id = any (:ids))
  and (not :problem::boolean or id = any (array(select problem.job_id from sexton.problems as problem)))
  and (not :problem::boolean or exists (
      select from sexton.problems as problem where problem.job_id = jobs.id and problem.revision = jobs.revision
  ))
