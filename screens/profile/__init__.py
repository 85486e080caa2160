"""What a config needs of memory and time, and what would change it."""
