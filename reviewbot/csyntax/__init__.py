"""Kernel C comes in; functions, macros, control flow and sizes go out (the only importer of tree_sitter)."""
