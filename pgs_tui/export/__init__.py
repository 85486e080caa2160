"""What is taken out of the screen: a run as text, JSON, pictures, tables and reports. No terminal is needed."""
