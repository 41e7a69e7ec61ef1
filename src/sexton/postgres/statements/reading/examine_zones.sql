-- The newest zone database that jobs were planned with, the live nodes that have an older one, and the zones whose changed rules
-- moved timers in the last month.
select
    (select max(version) from sexton.zones) as version,
    array(
        select node.name from sexton.nodes as node
        where node.zone_version < (select max(version) from sexton.zones)
          and node.state = 'live' and node.lease_until > clock_timestamp()
        order by node.name
    ) as behind,
    array(
        select zones.name || ' (' || zones.moved || case zones.moved when 1 then ' job)' else ' jobs)' end
        from sexton.zones
        where zones.replanned_at > clock_timestamp() - interval '30 days' and zones.moved > 0
        order by zones.name
    ) as moved
