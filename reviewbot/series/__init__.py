"""Messages or commits come in; a Series of Patches goes out."""
