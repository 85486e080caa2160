"""What `pgs-tui` does with its arguments, once it is known which command it is."""
