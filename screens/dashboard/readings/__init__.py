"""What the panels of the dashboard show for a run as it is now. Pure functions, no widgets."""
