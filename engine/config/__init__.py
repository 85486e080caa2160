"""The config of a run: its schema, its loading from YAML and the command line, and its checks."""

from engine.config.checks import check_config, check_schedule
from engine.config.dump import dump_config
from engine.config.errors import ConfigError, Note, Place, Problem
from engine.config.load import Loaded, config_name, load_config
from engine.config.rounding import check_updates
from engine.config.schema import Config, Data, Logging, Memory, Model, Parallel, Train

__all__ = [
    "Config",
    "ConfigError",
    "Data",
    "Loaded",
    "Logging",
    "Memory",
    "Model",
    "Note",
    "Parallel",
    "Place",
    "Problem",
    "Train",
    "check_config",
    "check_schedule",
    "check_updates",
    "config_name",
    "dump_config",
    "load_config",
]
