"""Known mistakes seeded into real functions: what the rules find of them. `python -m tests.mutation TREE`."""
