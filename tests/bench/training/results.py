"""The file that holds the results: a row is written as soon as it is there, and replaces an older one of its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def load_results(path: Path) -> dict[str, Any]:
    """What the file holds; nothing where there is none yet."""
    if not path.exists():
        return {"machine": None, "rates": None, "rows": [], "trl": []}
    results: dict[str, Any] = json.loads(path.read_text())
    return results


def save_results(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def put(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Add the row, in place of one with the same name and label."""
    same = [index for index, other in enumerate(rows) if identity(other) == identity(row)]
    if same:
        rows[same[0]] = row
    else:
        rows.append(row)


def identity(row: dict[str, Any]) -> tuple[str, str | None]:
    return row["name"], row.get("label")


def measured(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those rows that came to figures."""
    return [row for row in rows if row.get("tok_s") is not None]
