"""Texts to token ids, and where in the text each token begins."""
