"""`pgs-tui CONFIG ...` as a person starts it, but with `fake_engine.py` for the engine."""

import os
import sys
from functools import partial
from pathlib import Path

from pgs_tui.appearance.look import look_of
from pgs_tui.configs import find_config, short_name
from pgs_tui.goals import StartConfig
from pgs_tui.runs.launcher import launch
from pgs_tui.showing import show

FAKE = str(Path(__file__).with_name("fake_engine.py"))
config = find_config(sys.argv[1])
start = partial(launch, command=(sys.executable, FAKE))
sys.exit(show(StartConfig(config, tuple(sys.argv[2:]), short_name(config)), look_of(os.environ, "utf-8"), start))
