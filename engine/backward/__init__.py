"""The backward pass of a step: cut at the last hidden state, judged there, and freeing each gradient at once."""
