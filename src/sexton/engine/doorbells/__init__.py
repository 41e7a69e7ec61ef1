"""How runs come to workers: PostgreSQL decides who claims; a doorbell only saves waiting."""
