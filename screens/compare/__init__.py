"""Up to six runs over each other."""
