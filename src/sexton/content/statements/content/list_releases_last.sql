-- Releases of a namespace in the order of their time, the last first.
-- include: chosen_releases
select * from found where (scheduled_at, id) < (:place_at, :place_id) order by scheduled_at desc, id desc limit :limit
