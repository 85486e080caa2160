"""`pgs monitor`: the state and the health of a run, or of a plain log, without a screen. No torch."""
