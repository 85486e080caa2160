"""The keys, a screen a file. `pgs_tui.keys` puts them together."""
