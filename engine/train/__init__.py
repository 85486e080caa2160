"""Training: a config is assembled to a trainer, the loop takes its steps, and people are told of them."""
