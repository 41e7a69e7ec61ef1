"""A worker: claims runs in batches, carries them out concurrently, and records the outcomes in batches.

    claim ──► backlog ──► one task per run ──► outcomes ──► one statement per kind for all of them
                 ▲                                 │
                 └──── as slots become free ◄──────┘

The life of a run here, by module:

    claimer         takes runs from the queue when there is room; `pace` says how far ahead of it
    limits          shares out the runs of queues with limits
    receiver        takes the notices of a broker, if there is one, for the claimer to claim by id
    steps           finds what to call for a run's target, and how often to try
    runner          starts a task per run, stops runs, and collects what they end with
    watcher         stops runs that are over their time, and gives back what waits too long
    wear            notices when too many handlers go on although they were stopped
    isolation       starts processes for runs that may end theirs; `suspects` claims there
    feedback        log lines, progress, tokens and transactions of a handler while it runs
    outcome_writer  writes the outcomes of many runs at once
    audience        tells the application's listeners what was recorded
    heartbeat       renews the lease of the worker's node, and brings the requests to cancel
    queue           the statements, on connections of their own
    state           what these share: each part is given this, and not the worker
    worker          puts them together, starts and stops them

Nothing on this way costs a statement, a round trip or a timer per run. The next claim is under way while
outcomes are written. Deadlines are watched for all runs together.

The races it must win:

- Another worker claims the same run. A claim locks rows with SKIP LOCKED and raises the run's claim number;
  every later statement names (run, node, claim), and touches nothing that is no longer held under them.
- The worker is declared dead while it works. When its lease is in doubt it claims nothing. When its beat
  finds no node it drops its runs and goes on as a new node. Outcomes that are ready are still tried under the
  old identity: they count only for runs that no other worker has claimed yet.
- An answer is lost after the statement was carried out. After a claim, the runs that the database says are
  held, and that are not held here, are given back. After an outcome, history is asked what it has recorded
  before anything is repeated.
- A run ends, times out and is cancelled in the same moment. All of it happens in one event loop, and the
  first to collect the run decides.

What breaks it: a handler that blocks the event loop. The heartbeat has a thread of its own, so the lease is
kept, but nothing is claimed, watched or written until the handler returns; the thread names it in the log.
A handler that ends the process takes all runs of it along, once: see `isolation`.
A process that is stopped for longer than its lease loses its runs to others, and its handlers may still be
running then: that is why every target is given the idempotency key.
"""
