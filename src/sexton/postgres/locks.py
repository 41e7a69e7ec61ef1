"""The numbers of the advisory locks, all in one file, so that no two are the same.

The elector `advisory` locks shards as well, in the space of two-part numbers that no lock here shares.
"""

from __future__ import annotations

#: One process migrates the database.
MIGRATE = 7_390_001
#: One process drops old partitions and deletes what has outlived its retention.
HOUSEKEEPING = 7_390_002
#: One process makes a partition.
MAKE_PARTITION = 7_390_003
#: One process moves timers after a change of the zone database.
REPLAN = 7_390_004
#: The upper half of `sexton.shards_lock()`, declared in `migrations/0001_engine.sql`: writers of timers share
#: it; a change of the number of shards holds it exclusively.
SHARDS = 7_390_005
#: The upper half of the number in `sexton.reserve_catch_up()`, declared there too: one process at a time
#: takes the next free times for missed runs.
CATCH_UP = 7_390_006
#: One process at a time makes the template of scratch databases, or copies it.
SCRATCH_TEMPLATE = 7_390_010
#: One `sexton bench` measures in a database: two would share the schema, and disturb each other.
BENCH = 7_390_011
#: One `sexton demo` makes the example data of a directory.
DEMO = 7_390_012
#: Requests with one Idempotency-Key run one after the other: the seed of the hash of the key.
IDEMPOTENCY_KEY_SEED = 7_390
#: Workers of one application join one after the other: the seed of the hash of its name.
APPLICATION_SEED = 7_391
#: Plans for one entity are made one after the other: the seed of the hash of the entity.
CONTENT_ENTITY_SEED = 7_392
