"""Looking at data before and after a run: `pgs inspect`, its server, and `pgs validate`. Needs no torch."""
