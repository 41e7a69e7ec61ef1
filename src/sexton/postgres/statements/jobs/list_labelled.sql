-- Jobs of a namespace with a label (:label is its name, :labels its name and value); of the kinds of target that are no product's own.
select job.id
from sexton.jobs as job
where job.labels is not null and (:label::text is null or job.labels ? :label) and (:labels::jsonb is null or job.labels @> :labels)
    and job.namespace = :namespace and job.status <> 'deleted' and not job.target ?| :others::text[]
order by job.id
limit :most
