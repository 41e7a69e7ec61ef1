-- Releases of a namespace by number, or by a part of their notes; the latest first.
select id, note, created_by, scheduled_at
from sexton.content_releases
where namespace = :namespace and (id = :release_id::bigint or note ilike :pattern)
order by id desc
limit :limit
