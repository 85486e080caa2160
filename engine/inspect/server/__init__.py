"""`pgs inspect --serve`: one process that answers questions about rows, a line of JSON each (docs/json.md)."""
