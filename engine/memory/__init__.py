"""Memory: what a recipe takes of it (`estimate`), what that means on a GPU and what would help (`advice`), and what a
run really takes (`live`)."""
