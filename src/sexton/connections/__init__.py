"""How servers beside PostgreSQL are reached: one form of address, one way to TLS and passwords."""
