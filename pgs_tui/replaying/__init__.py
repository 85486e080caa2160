"""A run that is over, played: its log gives what had been told by a moment, and no more."""
