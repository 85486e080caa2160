"""The parts a screen is made of. One widget a file; none knows a screen."""
