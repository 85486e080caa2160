"""What other tools write of a training: each format read into the steps that it tells of. Standard library only."""
