-- All live runs of a namespace whose id is smaller than :below, the newest first; every filter may be null.
select
-- include: live_runs
where j.namespace = :namespace and (:below::bigint is null or r.id < :below)
    and (:states::text[] is null or r.state = any (:states))
    and (:triggers::text[] is null or r.trigger = any (:triggers))
order by r.id desc
limit :limit
