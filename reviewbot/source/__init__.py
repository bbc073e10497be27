"""A Series and a base tree come in; a SourceTree per patch goes out."""
