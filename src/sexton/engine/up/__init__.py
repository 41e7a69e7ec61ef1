"""`sexton up`: the processes of one machine."""
