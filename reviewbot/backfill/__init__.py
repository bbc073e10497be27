"""A whole mail archive comes in; a result for every series in it goes out, into one SQLite file."""
