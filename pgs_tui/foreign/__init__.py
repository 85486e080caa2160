"""Training of other tools, looked at like a run: a process of its own writes what it tells into a folder."""
