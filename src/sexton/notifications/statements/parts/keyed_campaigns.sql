-- The campaigns of a list, with the key of its order, as `keyed`.
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
