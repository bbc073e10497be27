"""Fuzzing of what reads bytes from strangers: mails, diffs, C. `python -m tests.fuzz --help` tells how to run it."""
