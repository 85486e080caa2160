"""Which characters of a text have loss, and why."""
