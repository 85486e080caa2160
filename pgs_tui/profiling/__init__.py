"""What a config needs, before it runs: the profiler's process seen from outside, and what would be if (no Textual)."""
