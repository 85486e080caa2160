"""What is told of a run: each step, the rehearsal, the memory that is expected, the batch behind a flagged step."""
