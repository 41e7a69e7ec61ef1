-- How many runs wait in each lane of a namespace (null: of all), counted up to :most per lane, so that the answer stays cheap.
select l.namespace, l.queue, l.target, l.handler, sum(w.waiting)::bigint as waiting, min(w.oldest_available_at) as oldest_available_at
from sexton.lanes l
cross join lateral (
    select count(*) as waiting, min(available_at) as oldest_available_at
    from (
        select r.available_at
        from sexton.runs r
        where r.lane = l.id and r.state in ('pending', 'failed') and r.available_at <= coalesce(:now::timestamptz, clock_timestamp())
        limit :most
    ) waiting_now
) w
where w.waiting > 0 and (:namespace::text is null or l.namespace = :namespace)
group by l.namespace, l.queue, l.target, l.handler
order by sum(w.waiting) desc, min(l.id)
limit 100
