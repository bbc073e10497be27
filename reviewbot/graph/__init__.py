"""Functions come in; user-access blocks, resolved symbols and the call graph go out (the only importer of networkx)."""
