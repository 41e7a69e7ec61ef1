"""A message to a broker as a target."""
