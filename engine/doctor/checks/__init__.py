"""One check a file: what is looked at, and how it is judged."""
