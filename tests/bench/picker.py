"""How long the picker takes with many configs: to find and list them, to read them all, and in a real terminal.

    python tests/bench/picker.py [--configs 200] [--times 5]

The configs are copies of a commented recipe in twenty folders, beside as many YAML files of other programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pgs_tui.picking.checking import check
from pgs_tui.picking.collection import Collection
from pgs_tui.picking.discovery import Tally, discover
from tests.bench.first_frame import seconds_of, seconds_until, show

RECIPE = Path(__file__).parents[2] / "configs" / "qwen35_4b" / "card_16gb.yaml"
FOLDERS = 20
STATUS_LINE = b"pgs-tui"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", type=int, default=200)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        write(here, options.configs)
        os.chdir(here)
        os.environ["XDG_STATE_HOME"] = str(here / "state")
        measure(here, options.configs, options.times)


def write(here: Path, configs: int) -> None:
    """The folder to look through."""
    text = RECIPE.read_text().replace("../quickstart/", f"{RECIPE.parents[1]}/quickstart/")
    for number in range(configs):
        folder = here / "configs" / f"folder{number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"config{number}.yaml").write_text(text)
        (folder / f"other{number}.yaml").write_text("services:\n  web:\n    image: nginx\n" * 50)


def measure(here: Path, configs: int, times: int) -> None:
    """Take the times and print them."""
    check(next((here / "configs").rglob("config0.yaml")))  # the first one imports the libraries
    listed = [seconds(lambda: list_all(here, configs)) for _ in range(times)]
    paths = [found.path for found in discover(here, here / "none", Tally())]
    read = [seconds(lambda: [check(path) for path in paths]) for _ in range(times)]
    last = f"/{configs}".encode()
    command = (sys.executable, "-m", "pgs_tui")
    frames = [seconds_until(command, STATUS_LINE, last) for _ in range(times)]
    show(f"finding and sorting {configs} configs", listed)
    show(f"reading and checking {configs} configs", read)
    show("from the shell to the first frame", [first for first, _ in frames])
    show("from the first frame to the list", [then - first for first, then in frames])
    show("import textual.app alone", [seconds_of((sys.executable, "-c", "import textual.app")) for _ in range(times)])


def list_all(here: Path, configs: int) -> None:
    """What stands between the first frame and the list."""
    collection = Collection(here)
    collection.add(discover(here, here / "none", Tally()))
    collection.groups()
    assert len(collection) == configs, "not every config was found"


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
