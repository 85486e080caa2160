"""`pgs doctor`: proves on this machine what silently goes wrong elsewhere."""
