"""Puts the results into docs/performance.md and docs/profile.md.

    PYTHONPATH=. python -m tests.bench.training.page

The pages have blocks between `<!-- NAME of FILE -->` and `<!-- end -->`, FILE below docs/performance/; what stands in
a block is made anew from its file. Where there is no file, the block says that nothing has been measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.training.accuracy_table import accuracy_table
from tests.bench.training.results import load_results
from tests.bench.training.table import (
    comparison_table,
    dashboard_table,
    machine_line,
    recipe_table,
    settings_table,
    timeline_table,
    ways_table,
)
from tests.bench.training.workload import PROJECT

PAGE = PROJECT / "docs" / "performance.md"
PAGES = (PAGE, PROJECT / "docs" / "profile.md")
RESULTS = PROJECT / "docs" / "performance"
BLOCK = re.compile(r"(<!-- (?P<name>[a-z]+) of (?P<file>[\w.]+) -->\n).*?(\n<!-- end -->)", re.DOTALL)
MAKERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "table": recipe_table,
    "settings": settings_table,
    "comparison": comparison_table,
    "timeline": timeline_table,
    "machine": machine_line,
}

FROM_ONE_BENCH: dict[str, Callable[[dict[str, Any] | None], str]] = {
    "dashboard": dashboard_table,
    "ways": ways_table,
    "accuracy": accuracy_table,
}


def filled(page: str, results: Path) -> str:
    """The page with every block made from the files in `results`."""

    def make(block: re.Match[str]) -> str:
        return f"{block[1]}{made(block['name'], results / block['file'])}{block[4]}"

    return BLOCK.sub(make, page)


def made(name: str, path: Path) -> str:
    """What stands in a block of that name."""
    if name in FROM_ONE_BENCH:
        return FROM_ONE_BENCH[name](json.loads(path.read_text()) if path.exists() else None)
    return MAKERS[name](load_results(path))


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text(), RESULTS))


if __name__ == "__main__":
    main()
