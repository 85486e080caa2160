"""The tokenized samples of a config, one beside the other."""
