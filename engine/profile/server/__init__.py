"""`pgs profile --serve`: one process that answers questions about configs (docs/json.md)."""
