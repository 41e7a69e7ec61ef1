"""Workers outside the cluster, which reach Sexton over HTTP: programs in any language, with a key.

    join ──► claim ──► carry out ──► report
               ▲          │ beat       │
               └──────────┴────────────┘

Such a worker is a node like any other: a row with a lease, which its beats and claims renew. The statements
of the engine claim its runs and record their outcomes. So everything about runs and workers holds here too:
limits, claim numbers, retries, cancels, and the sweeper that takes the runs of a dead worker back. Only its
process is not ours.

    worker   joining, beating, leaving
    claim    taking runs for it, and waiting for some
    report   recording what it says of them

The row of the worker holds what other workers keep in memory: `begun` are its runs. A claim adds to them, and
a report removes from them, each in its own transaction. With every beat the runs that are over their time
fail, and the runs whose claim got no answer are given back. Any process that serves the API can do that,
since the processes remember nothing.
"""
