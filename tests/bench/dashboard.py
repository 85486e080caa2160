"""Whether the dashboard keeps its budgets: the real program in a terminal, on runs of 1k to 1M steps.

    PYTHONPATH=. python tests/bench/dashboard.py [--rows NAME,..] [--times 7] [--runs FOLDER] [--out FILE]
    PYTHONPATH=. python tests/bench/dashboard.py --table FILE

Prints each measurement with its bound; the exit code is 1 when one is past it. The names of the rows are first, attach,
load, update, axes, append, echo, rest (CPU and bytes) and memory. The runs are made up as our engine would write them
and kept in FOLDER, where 1M steps take 0.7 GB; without FOLDER they are made anew and removed. The bounds are for two
cores that have nothing else to do: the load beside the table says whether that was so. `update`, `axes` and
`append` are measured within a process of the same code, everything else from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.watching.rows import ROWS, Place, Row


def main() -> int:
    options = parse()
    if options.table is not None:
        print(as_markdown(json.loads(options.table.read_text())["rows"]))
        return 0
    before = os.getloadavg()[0]
    if options.runs is not None:
        found = measure(options.runs, options)
    else:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), options)
    after = os.getloadavg()[0]
    print(f"\nload average {before:.2f} before, {after:.2f} after; {os.cpu_count()} cores")
    if options.out:
        write(options.out, found, (before, after))
    return 0 if all(row.met for row in found) else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), metavar="NAME,..")
    parser.add_argument("--times", type=int, default=7, help="how often each start is repeated")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all that was found as JSON")
    parser.add_argument("--table", type=Path, metavar="FILE", help="only print such a file as Markdown")
    options = parser.parse_args()
    options.rows = options.rows.split(",")
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"no rows are named {', '.join(unknown)}; there are {', '.join(ROWS)}")
    return options


def measure(folder: Path, options: argparse.Namespace) -> list[Row]:
    place, found = Place(folder, options.times), []
    for name in options.rows:
        for row in ROWS[name](place):
            print(as_text(row), flush=True)
            found.append(row)
    return found


def as_text(row: Row) -> str:
    """A row of the table."""
    found = as_number(row.found)
    verdict = "met   " if row.met else "MISSED"
    return f"{verdict} {row.name:12} {row.what:62} {found:>7} of {row.bound:g} {row.unit}   {row.detail}".rstrip()


def as_number(found: float | None) -> str:
    """Three digits, and all of those before the point."""
    return "never" if found is None else f"{found:.3g}" if found < 100 else f"{found:.0f}"


def as_markdown(rows: list[dict[str, Any]]) -> str:
    """What `write` has written as a table for a page."""
    lines = ["| what | measured | bound | |", "|---|---|---|---|"]
    for row in rows:
        found = f"{as_number(row['found'])} {row['unit']}"
        verdict = "" if row["met"] else "**missed**"
        detail = f" ({row['detail']})" if row["detail"] else ""
        lines.append(f"| {row['name']}: {row['what']} | {found}{detail} | {row['bound']:g} | {verdict} |")
    return "\n".join(lines)


def write(path: Path, found: list[Row], load: tuple[float, float]) -> None:
    """Everything that was found. Rows that are in the file and were not measured now stay in it."""
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    rows = {(row["name"], row["what"]): row for row in known.get("rows", [])}
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": load}
    for row in found:
        rows[row.name, row.what] = asdict(row) | {"met": row.met} | machine
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": list(rows.values())}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
