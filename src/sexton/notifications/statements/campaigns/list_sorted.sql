-- Campaigns of a namespace by their names, by when they go out or were made. All of them are read: campaigns are few.
with keyed as (
    select campaign.*, coalesce(:now::timestamptz, clock_timestamp()) as now,
        case :key::text
            when 'name' then lower(campaign.name)
            when 'send_at' then coalesce(
                to_char(
                    coalesce(campaign.send_at, campaign.local_time at time zone campaign.timezone) at time zone 'UTC',
                    'YYYY-MM-DD HH24:MI:SS.US'
                ),
                ''
            )
            else lpad(campaign.id::text, 20, '0')
        end collate "C" as key
    from sexton.campaigns as campaign
    where campaign.namespace = :namespace and (:status::text is null or campaign.status = :status)
        and (:pattern::text is null or campaign.name ilike :pattern)
)
select keyed.*
from keyed
where :place::text is null or (keyed.key, keyed.id) > (:place, :place_id::bigint)
order by keyed.key, keyed.id
limit :limit
