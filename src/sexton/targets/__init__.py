"""Who carries runs out."""
