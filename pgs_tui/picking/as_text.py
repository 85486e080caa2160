"""The list of configs as plain text, for where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from pgs_tui.format import plain
from pgs_tui.picking.checking import batch_and_length, check, data_sets, what_trains
from pgs_tui.picking.collection import Collection, Entry
from pgs_tui.picking.discovery import Tally, discover
from pgs_tui.picking.folders import folder_name
from pgs_tui.picking.last_runs import last_runs
from pgs_tui.picking.words import told_run


def print_configs(here: Path, shipped: Path, out: TextIO) -> int:
    """Print the configs by model, each with what it trains or why it cannot. Returns 0, or 1 without any."""
    collection, tally = Collection(here), Tally()
    collection.add(discover(here, shipped, tally))
    for entry in collection:
        entry.take(check(entry.path))
    collection.take_runs(last_runs([entry.path for entry in collection]))
    for text in _lines(collection, tally):
        print(text, file=out)
    return 0 if len(collection) else 1


def _lines(collection: Collection, tally: Tally) -> Iterator[str]:
    groups = collection.groups()
    if not groups:
        yield f"there is no config below {plain(folder_name(collection.here))}; pgs-tui quickstart trains a small model"
    longest = max((len(plain(entry.shown)) for entry in collection), default=0)
    for group in groups:
        yield plain(group.title)
        for entry in group.entries:
            yield f"  {plain(entry.shown):<{longest}}  {_told(entry)}"
    if groups:
        yield "pgs-tui CONFIG trains one, pgs profile --config CONFIG tells its memory"
    if tally.other_files:
        yield f"other YAML files: {tally.other_files}"


def _told(entry: Entry) -> str:
    assert entry.checked is not None, "it was read"
    config = entry.checked.config
    if config is None:
        return f"invalid: {entry.checked.problems[0]}"
    run = entry.last_run
    parts = [what_trains(config), plain(", ".join(data_sets(config))), batch_and_length(config)]
    if entry.runs_code:
        parts.append("runs the model's own code (model.trust_remote_code)")
    return ", ".join((*parts, *((plain(told_run(run, time.time())),) if run else ())))
