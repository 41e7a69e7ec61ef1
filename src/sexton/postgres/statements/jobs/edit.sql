-- Write a job's new definition, as its next revision.
update sexton.jobs
set name = :name, app = :app, kind = :kind, schedule = :schedule, timezone = :timezone, anchor = :anchor,
    timing_key = :timing_key, moved = :moved, target = :target, payload = :payload, options = :options, labels = :labels,
    description = :description, owner = :owner, declaration = :declaration, updated_at = :now, revision = revision + 1
where id = :job_id
