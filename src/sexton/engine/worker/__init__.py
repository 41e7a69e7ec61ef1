"""A worker: claims runs in batches, carries them out concurrently, and records the outcomes in batches.

    claim ──► backlog ──► one task per run ──► outcomes ──► one statement per kind for all of them
                 ▲                                 │
                 └──── as slots become free ◄──────┘

The life of a run here, by module:

    claimer         takes runs from the queue when there is room; `pace` says how far ahead of it
    share           shares out the runs of queues with limits
    receiver        takes the notices of a broker, if there is one; the claimer then claims by id
    steps           finds what to call for a run's target, and how often to try
    runner          starts a task per run, stops runs, and collects their outcomes
    watcher         stops runs after their timeout, and gives back runs that wait too long
    wear            notices when too many handlers go on although they were stopped
    isolation       starts processes for runs that may end their process; `suspects` claims there
    feedback        log lines, progress, tokens and transactions of a handler while it runs
    outcome_writer  writes the outcomes of many runs at once
    audience        calls the application's listeners with the recorded events
    heartbeat       renews the lease of the worker's node, and reads the requests to cancel
    queue           the statements, on their own connections
    state           what the parts share: each part gets this, and not the worker
    worker          puts the parts together, starts and stops them

No step costs a statement, a round trip or a timer per run. The next claim runs while outcomes are written.
One loop watches the deadlines of all runs.

The races it must win:

- Another worker claims the same run. A claim locks rows with SKIP LOCKED and raises the run's claim number;
  every later statement names (run, node, claim), and leaves a run alone that is not held under them any more.
- The worker is declared dead while it works. When its lease is in doubt, it claims nothing. When its beat
  finds no node, it drops its runs and continues as a new node. It still tries to write ready outcomes under
  the old identity: they count only for runs that no other worker has claimed yet.
- An answer is lost after the statement was carried out. After a claim, the worker gives back the runs that
  the database lists for it and that it does not know. After an outcome, it asks history what was recorded
  before it repeats anything.
- A run ends, times out and is cancelled in the same moment. All of that happens in one event loop, and the
  first part to collect the run decides.

What breaks it: a handler that blocks the event loop. The heartbeat has its own thread, so the lease is kept,
but the worker claims, watches and writes nothing until the handler returns; the thread names the handler in
the log. A handler that ends the process ends all its runs, once: see `isolation`. A process that is stopped
for longer than its lease loses its runs to others, while its handlers may still run: that is why every target
gets the idempotency key.
"""
