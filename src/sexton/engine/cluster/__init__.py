"""Who is there, and who leads which shard."""
