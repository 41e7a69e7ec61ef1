-- Whether any job of a namespace has fired, as far as history is kept.
select exists (select from sexton.activity where namespace = :namespace and status <> 'skipped')
    or exists (
        select from sexton.runs as run join sexton.lanes as lane on lane.id = run.lane where lane.namespace = :namespace
    )
