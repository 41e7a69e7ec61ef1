"""Each module is a command, named as the module is."""
