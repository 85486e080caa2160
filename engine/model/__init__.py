"""The model: how it is found, loaded and turned into a loss."""
