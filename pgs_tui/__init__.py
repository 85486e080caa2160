"""The command `pgs-tui`: start a training run and watch it live in a terminal."""
