"""A command on the worker’s machine as a target."""
