"""The one store: the private server, the pool, the statements and the migrations."""
