"""Which process leads which shard: a lease on the node, a hold by the elector, an epoch on the shard.

    membership      a row in `nodes` with a lease (`lease`), the same for schedulers, workers and apis
    leadership      a scheduler's beat: renews the lease, and takes and hands over shards
    firing          whether this node can fire: one that cannot hands its shards to one that can
    electors        decide which node holds a shard, behind one contract; `guard` calls them safely
    database_clock  the database's time, estimated on the monotonic clock
    presence        the membership of a process that only serves the api
    draining, reshard, status, view    what operators ask for and see

A scheduler renews its lease once a second. The statement also returns which schedulers are live, and which of
them holds which shard. From that each scheduler computes, by rendezvous hashing, which shards it should lead:
joins, leaves and crashes move only the shards concerned. The elector decides which node holds a shard; by
default a shard is free if it has no leader, or the lease of its leader has ended on the database's clock.

The race it must win: two nodes lead one shard, because one of them was stopped for longer than its lease, was
cut off, or its elector lost its data. PostgreSQL gives out the next epoch of a shard when a node takes it.
Every firing carries the epochs that its node knows, locks the rows of its shards, and is refused as a whole
if one epoch is outdated. So an old leader can do no harm, whatever the elector says. It also stops by itself:
it trusts its lease, and the grants of the elector, only until a margin before their end, measured on the
monotonic clock from the moment before it sent the renewal.

What breaks it: epochs that go back, as after a restore of shards from an old backup while schedulers run. A
lock that a stopped leader keeps does not break it: a takeover that the lock blocks ends the leader's backend
in PostgreSQL, whose number is in the leader's row. That rolls its open firing back.
"""
