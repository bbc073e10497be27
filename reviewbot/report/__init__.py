"""A Review comes in; text in one format goes out (FORMATS: name -> module)."""
