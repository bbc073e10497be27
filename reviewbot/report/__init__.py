"""Review in, text out: one module per format, each a pure `render(review, view)` that touches no file."""
