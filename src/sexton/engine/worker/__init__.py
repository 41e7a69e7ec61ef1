"""Claims runs, carries them out and records their outcomes."""
