"""How fast Sexton is on this machine, beside what the PostgreSQL under it can do at most.

    hot_second   many jobs due at one instant: fired, executed and recorded
    campaign     a template to very many recipients: imported, written into the ledger, sent
    steady       a constant rate for a while: how late runs start
    size         a million jobs and more: how long until ready, how much memory, what a firing costs

Everything happens in a schema of its own, which is made for the measurement and dropped after it. The
product runs as it always does: a scheduler process and worker processes, history kept. The limit comes from
the same run: bare set-based SQL that makes the same row writes in the same tables, firing and draining at
once.
"""
