"""reviewbot reviews Linux kernel patch series for the way they touch user memory."""

__version__ = "0.1.0"
