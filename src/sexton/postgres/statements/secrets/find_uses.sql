-- What names a secret, as `${secret:NAME}` or {"secret": "NAME"}: jobs (the first :look without a handler are read), providers and
-- adapters.
with looked as materialized (
    select job.name, job.target::text as target
    from sexton.jobs as job
    where job.namespace = :namespace and job.status <> 'deleted'
        and regexp_replace(coalesce(job.target ->> 'handler', ''), '^[^:]*:', '') = ''
    limit :look
),
named as (
    select looked.name
    from looked
    where strpos(looked.target, :placeholder) > 0 or strpos(looked.target, :whole) > 0
)
select (select count(*) from looked) as looked, (select count(*) from named) as jobs,
    array(select named.name from named order by named.name limit :most) as sample,
    array(
        select provider.name
        from sexton.notification_providers as provider
        where provider.namespace = :namespace
            and (strpos(provider.config::text, :placeholder) > 0 or strpos(provider.config::text, :whole) > 0)
        order by provider.name
    ) as providers,
    array(
        select adapter.name
        from sexton.content_adapters as adapter
        where adapter.namespace = :namespace
            and (strpos(adapter.config::text, :placeholder) > 0 or strpos(adapter.config::text, :whole) > 0)
        order by adapter.name
    ) as adapters
