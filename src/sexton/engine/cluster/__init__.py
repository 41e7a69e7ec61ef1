"""Which process leads which shard: a lease on the node, a hold by the elector, an epoch on the shard.

    membership      a row in `nodes` with a lease (`lease`), the same for schedulers, workers and apis
    leadership      a scheduler's beat: renews the lease, and takes and hands over shards
    firing          whether this node can fire: one that cannot hands its shards to one that can
    electors        decide which node holds a shard, behind one contract; `guard` calls them safely
    database_clock  the database's time, estimated on the monotonic clock
    presence        the membership of a process that only serves the api
    draining, reshard, status, view    what operators ask for and see

A scheduler renews its lease once a second, in a statement that also brings which schedulers live and which of
them holds which shard. From that each one works out for itself, by rendezvous hashing, which shards it should
lead: joins, leaves and crashes move only the shards concerned. The elector decides which node holds a shard;
by default a shard is free if it has no leader, or its leader's lease has ended on the database's clock.

The race it must win: two nodes lead one shard, because one of them was stopped for longer than its lease, was
cut off, or its elector forgot. Taking a shard mints its next epoch, in PostgreSQL and nowhere else. Every
firing carries the epochs it believes in, locks the rows of its shards, and is refused as a whole if one epoch
is no longer true. So an old leader can do no harm, whatever the elector says. It also stops by itself: it
trusts its lease, and what the elector granted, only until a margin before the end, measured on the monotonic
clock from the moment before the renewal was sent.

What breaks it: epochs that go back, as after restoring shards from an old backup while schedulers run. A lock
that a stopped leader keeps does not: a takeover that it blocks ends its backend in PostgreSQL, whose number
is in its row, and that rolls its open firing back.
"""
