"""What is known of a run: its steps as arrays, averages, marks, incidents, readings. Nothing here knows a screen."""
