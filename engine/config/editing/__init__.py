"""One key of a YAML text set anew, while every other line stays as its author wrote it."""
