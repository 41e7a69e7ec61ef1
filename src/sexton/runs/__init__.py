"""The account of every occurrence and run: what fired, what was skipped and why, what waits and for what.

Queries only; nothing here changes anything. A live run is a row of `runs`; an ended one, and a skipped
occurrence, a row of `history`.
"""
