"""Commands on jobs. Each is one transaction, its own or the caller's.

create, create_many, replace        make them
get, list_jobs, preview             look at them
edit, pause, resume, delete         change them
run_now, backfill                   ask for runs beside the schedule
cancel_run, redrive, discard        cancel runs; run dead letters again, or delete them
"""
