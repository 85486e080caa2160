"""The dashboard: a run's panels, live or played, and what one does with them."""
