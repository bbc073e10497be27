"""Bytes (mbox, maildir, files, archives) come in; Messages go out."""
