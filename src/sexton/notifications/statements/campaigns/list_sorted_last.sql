-- Campaigns of a namespace by their names, by when they go out or were made, the last first. All of them are read: campaigns are few.
-- include: keyed_campaigns
select keyed.*
from keyed
where :place::text is null or (keyed.key, keyed.id) < (:place, :place_id::bigint)
order by keyed.key desc, keyed.id desc
limit :limit
