-- Charge the meters with the runs that are admitted.
-- Expects meters, and admitted with the namespace of each run (null: it has no quotas) and whether it is `refused`. Another
-- common table expression follows.
charged as (
    update sexton.meters as meter
    set taken = meter.taken + charge.runs,
        free_at = case
            when charge.rate is null then meter.free_at else charge.next_at + charge.runs / charge.rate * interval '1 second'
        end
    from (
        select meters.namespace, meters.rate, meters.next_at, count(*) as runs
        from admitted
        join meters on meters.namespace = admitted.namespace
        where not admitted.refused
        group by meters.namespace, meters.rate, meters.next_at
    ) as charge
    where meter.namespace = charge.namespace and meter.kind = 'runs'
),
