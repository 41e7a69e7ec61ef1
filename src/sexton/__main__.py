"""`python -m sexton` is the command `sexton`."""

from sexton.cli import main

main()
