"""Blocks and accesses come in; Observations of one kind of mistake go out (RULES: slug -> module)."""
