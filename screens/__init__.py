"""What a person sees, one screen a file with its style sheet beside it."""
