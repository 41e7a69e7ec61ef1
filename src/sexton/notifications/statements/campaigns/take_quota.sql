-- Take up to :wanted messages of the quota that the campaigns of a namespace have for a day; returns how many were taken.
with before as (
    insert into sexton.campaign_meters as meter (namespace, day, taken)
    values (:namespace, :day, 0)
    on conflict (namespace, day) do update set taken = meter.taken
    returning meter.taken
),
taken as (
    select least(:wanted::bigint, greatest(0, :quota::bigint - before.taken)) as granted from before
)
select taken.granted from taken
