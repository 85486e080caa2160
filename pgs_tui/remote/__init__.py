"""Runs on other machines, through the system's `ssh`; over there a shell is enough (docs/over-ssh.md)."""
