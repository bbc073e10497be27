"""A tree and the paths in question come in; an Inspection of each goes out, from the cache or from worker processes."""
