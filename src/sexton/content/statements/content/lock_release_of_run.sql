-- The job of the run must be that of the release, or of its check: a payload alone proves nothing.
select release.*, clock_timestamp() as now from sexton.content_releases as release
where release.id = :release_id and :job_id::bigint in (release.job_id, release.check_job_id)
for update
