"""What surrounds training: the run's folder and log, the console, signals, people's commands, and how a run ends."""
