"""From examples to text, tokens and the loss of each token."""
