insert into sexton.audit (at, actor, action, detail)
values (coalesce(:now::timestamptz, clock_timestamp()), :actor, 'zone_replanned', :detail)
