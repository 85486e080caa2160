"""The picker: all configs, with what they need, to start one."""
