"""Memory: measured while training."""
