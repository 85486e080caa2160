"""What commands print for people and for programs: the paper, what may stand on it, and how a command ends."""
