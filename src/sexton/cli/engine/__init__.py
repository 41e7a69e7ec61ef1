"""The commands that start, stop, watch and mend an installation."""
