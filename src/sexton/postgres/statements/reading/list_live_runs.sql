-- All live runs of a namespace whose id is smaller than :below, the newest first.
select
-- include: live_runs
where j.namespace = :namespace and (:below::bigint is null or r.id < :below)
-- include: live_choice
order by r.id desc
limit :limit
