"""Fires every due timer on time, and once.

    scheduler   one round: follow the leadership, fire all due timers in batches, sleep until the next
    horizon     the timers of the next minutes, for the shards that this node leads; one `wheel` per shard
    due_batch   due timers that fire together
    catch_up    plans missed occurrences by the policy of their job
    set_aside   jobs whose next time their schedule cannot compute

A firing is one statement for a whole batch (`firing/fire.sql`): it checks the epochs of the batch's shards,
advances each timer only if the wheel is right about it, and inserts the runs. The wheels are copies of the
timers, and a wrong copy does no harm: a timer that has changed since is a miss, and is read again. Nothing
depends on the wheels alone: every few seconds a query finds overdue timers that no wheel holds.

The races it must win:

- Another node has taken a shard meanwhile. The statement refuses the whole batch (see `engine.cluster`), and
  the scheduler reads everything again.
- A caller edits a job while it fires. Both lock the timer, and the firing compares its revision. A batch
  waits half a second for a lock; then the jobs that are not locked fire without the others.
- An answer is lost. The scheduler does not know whether the statement was carried out, so it reads everything
  again. A firing has moved its timers, so it does not happen twice.
- The clock of this machine is wrong. The scheduler uses the database's time, and the statement fires only
  timers that are due on the database's clock.

What breaks it: work that blocks the event loop for longer than the lease, since the same loop renews it: then
another node takes the shards. So the scheduler never runs user code and never waits for a run, a schedule has
a budget of steps, and a thread plans missed occurrences.
"""
