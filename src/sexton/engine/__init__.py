"""Makes it happen: the processes that fire jobs, carry runs out and look after each other."""
