"""Chat templates, rendered with the origin of every character."""
