"""The training engine behind the command `pgs`: everything that trains, measures and judges."""
