-- The latest jobs of a namespace with a label (:label is its name, :labels its name and value), with :end those that are due before it;
-- without the kinds of target that belong to a product.
select job.id
from sexton.jobs as job
where job.labels is not null and (:label::text is null or job.labels ? :label) and (:labels::jsonb is null or job.labels @> :labels)
    and job.namespace = :namespace and job.status <> 'deleted' and not job.target ?| :others::text[]
    and (:end::timestamptz is null or exists (select from sexton.timers as timer where timer.job_id = job.id and timer.due_at < :end))
order by job.id desc
limit :most
