"""Text comes in; it goes out to the world exactly once (SMTP, patchwork, the ledger)."""
