"""rules/*.toml comes in; frozen, strictly checked data goes out."""
