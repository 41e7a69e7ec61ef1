"""Which node holds a shard: interchangeable electors behind one contract (`base`)."""
