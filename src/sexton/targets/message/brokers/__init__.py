"""Publishers: one module per broker."""
