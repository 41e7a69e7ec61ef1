"""Workers that work elsewhere, and reach Sexton over HTTP: a program in any language, with a key.

    join ──► claim ──► carry out ──► report
               ▲          │ beat       │
               └──────────┴────────────┘

Such a worker is a node like any other: a row with a lease, which its beats and claims renew. It claims with
the statements of the engine, and its outcomes are recorded with them. So all that holds for runs and workers
holds here: limits, claims that grow, retries, cancels, and the sweeper that takes the runs of a dead worker
back. Only its process is not ours.

    worker   joining, beating, leaving
    claim    taking runs for it, and waiting for some
    report   recording what it says of them

What the engine otherwise keeps in the memory of a worker is in its row: `begun` are the runs that it holds.
A claim adds to them in its own transaction, a report removes from them in its own. With every beat the runs
that are over their time fail, and those that the worker does not know of, as the answer to its claim was
lost, are given back. Any process that serves the API can do that, for none of them remembers anything.
"""
