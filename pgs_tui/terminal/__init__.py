"""The terminal itself: what is sent to it, what comes from it, and how it is left."""
