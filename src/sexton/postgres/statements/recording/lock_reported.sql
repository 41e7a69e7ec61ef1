-- Lock a run for a report.
with
-- include: patience
moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now from patience)
select
-- include: reported
where run.id = :run_id
for update of run
