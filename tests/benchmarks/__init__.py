"""Times and sizes against yardsticks, measured in the same run: `python -m tests.benchmarks`."""
