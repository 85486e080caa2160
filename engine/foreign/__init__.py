"""Training of other tools, read as the events of a run and judged like one."""
