"""Firing what is due, on time, once.

    scheduler   one round: follow the leadership, fire everything that is due in batches, sleep until the next
    horizon     the timers of the next minutes, for the shards that this node leads; one `wheel` a shard
    due_batch   timers that are due, to be fired together
    catch_up    what was missed: planned by the policy of its job
    set_aside   jobs whose schedule cannot say when they are due

A firing is one statement for a whole batch (`firing/fire.sql`): it checks the epochs of the batch's shards,
advances each timer only if it still is what the wheel says, and inserts the runs. The wheels are copies of
the timers and may be wrong without harm: a timer that has changed since is a miss, and is read again. Nothing
depends on them alone: every few seconds a look finds timers that are overdue though no wheel holds them.

The races it must win:

- Another node has taken a shard meanwhile. The batch is refused as a whole (see `engine.cluster`), and
  everything is read again.
- A job is edited while it fires. Both lock the timer, and the firing compares its revision. A batch waits
  half a second for a lock; then the jobs that are not locked fire without the others.
- An answer is lost. Whether the statement was carried out is not known, so everything is read again; what was
  fired has moved its timer, and does not fire twice.
- The clock of this machine is wrong. Time is the database's, and the statement itself fires nothing that is
  not due on the database's clock.

What breaks it: work that blocks the event loop for longer than the lease, which is renewed in the same loop:
another node takes the shards. So the scheduler never runs user code and never waits for a run, a schedule has
a budget of steps, and what was missed is planned in a thread.
"""
