"""The config of a run: its schema, its loading from YAML and the command line, and its checks."""

from engine.config.schema import Config, Data, Logging, Memory, Model, Parallel, Train

__all__ = ["Config", "Data", "Logging", "Memory", "Model", "Parallel", "Train"]
