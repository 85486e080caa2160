"""Runs on other machines, reached through the system's `ssh`; nothing is needed over there but a shell (docs/over-ssh.md)."""
