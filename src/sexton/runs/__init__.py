"""Runs and occurrences: what fired, what was skipped and why, what waits and for what; and commands on runs.

A live run is a row of `runs`. An ended run, and a skipped occurrence, is a row of `history`.
"""
