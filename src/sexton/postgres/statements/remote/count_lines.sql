-- How many lines and bytes the log of each attempt has, counted up to what is kept; and whether it has its last line.
select mine.id, count(line.size)::integer as lines, coalesce(sum(line.size), 0)::bigint as bytes,
    coalesce(bool_or(line.last), false) as full
from unnest(:runs::bigint[], :attempts::integer[]) as mine (id, attempt)
left join lateral (
    select octet_length(log.message) as size, log.message = :last::text as last
    from sexton.run_logs as log
    where log.run_id = mine.id and log.attempt = mine.attempt
    limit :most::integer
) as line on true
group by mine.id
