-- Only runs whose time has come, and has not passed, and that were not asked to cancel.
-- Expects moment and run, in a where clause that has begun.
        and run.state in ('pending', 'failed')
        and run.available_at <= (select now from moment)
        and run.cancel_requested_at is null
        and (run.expires_at is null or run.expires_at > (select now from moment))
